/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keeps device nodes open in the ways in which processes keep GPUs from being free. README.md has the arguments.
 *
 * One static program, so that a copy under another name is another executable. It prints its pid when it holds all it was
 * told to hold, and then does nothing until a signal ends it. The pid is the one that its /proc shows: in a pid namespace
 * of its own that is still the host's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define MEMORY_DIRECTORY "/run/fake-nvml"
#define PAGE 4096

enum detachment { STAY, REPARENT, FORK_AWAY };
enum rest { PAUSE, THREAD, VFORK };

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static int own_pid(void)
{
    char text[32] = "";

    if (readlink("/proc/self", text, sizeof(text) - 1) < 0)
        fail("/proc/self");
    return atoi(text);
}

static _Noreturn void stay(int reported_pid)
{
    dprintf(STDOUT_FILENO, "%d\n", reported_pid);
    for (;;)
        pause();
}

static int open_node(const char *path)
{
    int descriptor = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY);

    if (descriptor < 0)
        fail(path);
    return descriptor;
}

/* A private mapping: the only node here that can be mapped has the number of /dev/zero, and a shared mapping of that is one
 * of a file without a name. */
static void map_and_close(const char *path)
{
    int descriptor = open_node(path);

    if (mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, descriptor, 0) == MAP_FAILED)
        fail(path);
    close(descriptor);
}

static void share(const char *path)
{
    int descriptor = open(path, O_RDWR | O_CREAT, 0600);

    if (descriptor < 0 || ftruncate(descriptor, PAGE) < 0)
        fail(path);
    if (mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) == MAP_FAILED)
        fail(path);
    close(descriptor);
}

/* GPU:BYTES, for the fake NVML: it counts as long as this pid runs. */
static void take_memory(const char *amount)
{
    char path[64];
    const char *bytes = strchr(amount, ':');
    FILE *file;

    if (!bytes) {
        errno = EINVAL;
        fail(amount);
    }
    snprintf(path, sizeof(path), MEMORY_DIRECTORY "/%d/%d", atoi(amount), own_pid());
    file = fopen(path, "w");
    if (!file || fputs(bytes + 1, file) < 0 || fclose(file))
        fail(path);
}

static void hold(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        const char *option = arguments[i], *value = arguments[i + 1];
        if (!strcmp(option, "--open"))
            open_node(value), i++;
        else if (!strcmp(option, "--map"))
            map_and_close(value), i++;
        else if (!strcmp(option, "--share"))
            share(value), i++;
        else if (!strcmp(option, "--memory"))
            take_memory(value), i++;
        else if (!strcmp(option, "--ignore-term"))
            signal(SIGTERM, SIG_IGN);
    }
}

static char state_of(int pid)
{
    char path[32], line[512] = "";
    const char *state;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return 0;
    state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return state && state[1] ? state[2] : 0;
}

static void await_state(int pid, char wanted)
{
    while (state_of(pid) != wanted)
        usleep(1000);
}

static void fork_and_leave(void)
{
    pid_t child = fork();

    if (child < 0)
        fail("fork");
    if (child > 0)
        _exit(0);
}

static void detach(enum detachment how)
{
    if (how == STAY)
        return;
    fork_and_leave();
    if (how == FORK_AWAY) {
        if (setsid() < 0)
            fail("setsid");
        fork_and_leave();
    }
    while (getppid() != 1)
        usleep(1000);
}

static void *outlive_leader(void *unused)
{
    (void)unused;
    await_state(own_pid(), 'Z');
    stay(own_pid());
}

/* Only the leader ends: from then on /proc/PID/fd is empty and /proc/PID/task/TID/fd is not. */
static void leave_a_thread(void)
{
    pthread_t thread;

    errno = pthread_create(&thread, NULL, outlive_leader, NULL);
    if (errno)
        fail("pthread_create");
    syscall(SYS_exit, 0);
}

/* The parent sleeps in state D until its child ends, or KILL. The child holds nothing and goes with its parent. */
static void wait_in_vfork(void)
{
    int pid = own_pid();

    if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        closefrom(STDERR_FILENO + 1);
        await_state(pid, 'D');
        stay(pid);
    }
    fail("vfork"); /* the parent comes back when its child was ended by somebody else */
}

/* Whom we trace stops on its way out, with all that it holds, and no KILL brings it further; it ends when we do. */
static void keep_from_ending(const char *pid)
{
    if (ptrace(PTRACE_SEIZE, atoi(pid), NULL, (void *)PTRACE_O_TRACEEXIT) < 0)
        fail("PTRACE_SEIZE");
    stay(own_pid());
}

int main(int count, char **arguments)
{
    enum detachment detachment = STAY;
    enum rest rest = PAUSE;

    for (int i = 1; i < count; i++) {
        const char *option = arguments[i];
        if (!strcmp(option, "--reparent"))
            detachment = REPARENT;
        else if (!strcmp(option, "--fork-away"))
            detachment = FORK_AWAY;
        else if (!strcmp(option, "--thread"))
            rest = THREAD;
        else if (!strcmp(option, "--vfork"))
            rest = VFORK;
        else if (!strcmp(option, "--ignore-term"))
            continue;
        else if (i + 1 == count || (strcmp(option, "--open") && strcmp(option, "--map") && strcmp(option, "--share") &&
                                    strcmp(option, "--memory") && strcmp(option, "--keep-from-ending"))) {
            fprintf(stderr, "%s: unknown, or without its value; see README.md\n", option);
            return 2;
        } else if (!strcmp(option, "--keep-from-ending"))
            keep_from_ending(arguments[i + 1]);
        else
            i++;
    }
    detach(detachment);
    hold(count, arguments);
    if (rest == THREAD)
        leave_a_thread();
    if (rest == VFORK)
        wait_in_vfork();
    stay(own_pid());
}
