// Copyright: (c) 2026, blackwell.inference contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Many processes that do nothing, and a few that hold a device: crowd PROCESSES DESCRIPTORS MAPPINGS [KIND=NODE]...
// Prints one line "KIND PID" for each kind, then "ready". All end with the program that started this one.
//   plain      has the node open            thread     its leader has exited, a thread has it open
//   mapping    has it mapped, not open      other      as plain, for a node at another place
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int opened(const char *path) {
    int descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) die(path);
    return descriptor;
}

static void *wait_for_ever(void *nothing) {
    for (;;) pause();
    return nothing;
}

// A third each of files, sockets and others, as servers have them; standard input and the two outputs count.
static void fill(int descriptors, int mappings) {
    long page = sysconf(_SC_PAGESIZE);
    int program = open("/proc/self/exe", O_RDONLY);
    for (int number = 0; number < mappings; number++)
        if (mmap(0, page, number % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE, program, 0) == MAP_FAILED) die("mmap");
    close(program);
    for (int number = 3; number < descriptors; number++) {
        int made = number % 3 == 0 ? open("/dev/null", O_RDONLY) : number % 3 == 1 ? socket(AF_UNIX, SOCK_STREAM, 0) : eventfd(0, 0);
        if (made < 0) die("descriptor");
    }
}

static void hold(const char *kind, const char *node) {
    if (!strcmp(kind, "mapping")) {
        int descriptor = opened(node);
        if (mmap(0, 4096, PROT_READ, MAP_PRIVATE, descriptor, 0) == MAP_FAILED) die(node);
        close(descriptor);
    } else {
        opened(node);
    }
    if (!strcmp(kind, "thread")) {
        pthread_t thread;
        if (pthread_create(&thread, 0, wait_for_ever, 0)) die("pthread_create");
    }
}

int main(int count, char **arguments) {
    if (count < 4) return 2;
    int processes = atoi(arguments[1]), ready[2];
    if (pipe(ready)) die("pipe");
    signal(SIGCHLD, SIG_IGN);
    for (int number = 0; number < processes; number++) {
        char *kind = number < count - 4 ? arguments[4 + number] : 0, *node = kind ? strchr(kind, '=') : 0;
        if (node) *node++ = 0;
        pid_t pid = fork();
        if (pid < 0) die("fork");
        if (pid) {
            if (node) printf("%s %d\n", kind, pid);
            continue;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ready[0]);
        fill(atoi(arguments[2]) - (node ? 1 : 0), atoi(arguments[3]));
        if (node) hold(kind, node);
        close(ready[1]);
        if (kind && !strcmp(kind, "thread")) syscall(SYS_exit, 0);
        wait_for_ever(0);
    }
    close(ready[1]);
    char none;
    if (read(ready[0], &none, 1)) return 1;  // all have closed their end
    printf("ready\n");
    fflush(stdout);
    wait_for_ever(0);
}
