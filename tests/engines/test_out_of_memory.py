"""A failed allocation anywhere in a fit raises MemoryError, and the next fit works as usual.

A small library replaces malloc. From a given allocation on, threads get no more memory than they have freed. It
ignores sizes, so it also refuses the few bytes that C++ needs for an exception. Or it refuses one large array and
nothing else: then other threads continue with their trees until they are stopped.
"""

import os
import shutil
import subprocess
import sys

import pytest

CC = shutil.which("cc")
MALLOC = """
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static long left = -1;  // allocations until memory ends; negative: it does not end
static long n_asked = 0;
static long room = 0;  // bytes given back since

static long refused_array = -1;  // counted from 0; negative: none
static long n_arrays = 0;

void end_after(long n) { n_asked = 0; room = 0; left = n; }
long count(void) { return n_asked; }
void refuse_array(long n) { n_arrays = 0; refused_array = n; }
long count_arrays(void) { return n_arrays; }

static int in_thread(void) { return syscall(SYS_gettid) != getpid(); }
static int here(void) { return left >= 0 && in_thread(); }
static int refused(size_t size) {
    if (!here() || __sync_fetch_and_add(&n_asked, 1) < left) return 0;
    if (__sync_sub_and_fetch(&room, (long)size) >= 0) return 0;
    __sync_add_and_fetch(&room, (long)size);
    errno = ENOMEM;
    return 1;
}
void* malloc(size_t size) { return refused(size) ? NULL : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return refused(n * size) ? NULL : __libc_calloc(n, size); }
void* realloc(void* old, size_t size) { return refused(size) ? NULL : __libc_realloc(old, size); }
static int is_refused_array(void) {
    return refused_array >= 0 && in_thread() && __sync_fetch_and_add(&n_arrays, 1) == refused_array;
}
void* memalign(size_t to, size_t size) {
    return is_refused_array() || refused(size) ? NULL : __libc_memalign(to, size);
}
void* aligned_alloc(size_t to, size_t size) { return memalign(to, size); }
int posix_memalign(void** p, size_t to, size_t size) { return (*p = memalign(to, size)) ? 0 : ENOMEM; }
void free(void* old) {
    if (old && here() && n_asked >= left) __sync_add_and_fetch(&room, (long)malloc_usable_size(old));
    __libc_free(old);
}
"""

START = """
import ctypes, sys
import numpy as np
import weald

memory = ctypes.CDLL(sys.argv[1])
X = np.random.default_rng(0).normal(size=(600, 6))

def try_each(refuse, numbers, fit, wanted):
    n_refused = 0
    for n in numbers:
        refuse(n)
        try:
            fitted = fit()
        except MemoryError:
            n_refused += 1
        else:
            assert fitted == wanted
    refuse(-1)
    assert n_refused > 30, n_refused
    assert fit() == wanted
    print("as wanted")
"""

WHEREVER_IT_ENDS = """
def fit_numbers():
    return weald.RandomForestRegressor(5, random_state=0, n_jobs=1).fit(X, X[:, 0]).forest_.fingerprint()

def fit_classes():
    forest = weald.RandomForestClassifier(20, random_state=0, n_jobs=1, oob_score=True)
    return forest.fit(X, X[:, 0] > 0).forest_.fingerprint()

for fit in (fit_numbers, fit_classes):
    memory.end_after(10**9)
    wanted = fit()
    n = memory.count()
    assert n > 100, n
    try_each(memory.end_after, (*range(20), *range(20, n, n // 40)), fit, wanted)
"""

ONE_ARRAY = """
y = np.arange(600) % 5

for kind in (weald.RandomForestRegressor, weald.RandomForestClassifier):
    fit = lambda: kind(12, random_state=0, n_jobs=2).fit(X, y).forest_.fingerprint()
    memory.refuse_array(10**9)
    wanted = fit()
    n = memory.count_arrays()
    assert n > 5, n
    try_each(memory.refuse_array, [*range(n)] * 20, fit, wanted)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux") or CC is None, reason="needs a C compiler")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer has a malloc of its own")
@pytest.mark.parametrize("script", [WHEREVER_IT_ENDS, ONE_ARRAY], ids=["wherever it ends", "one array"])
def test_where_memory_ends_a_fit_says_so(tmp_path, script):
    source, library = tmp_path / "memory.c", tmp_path / "memory.so"
    source.write_text(MALLOC)
    subprocess.run([CC, "-O1", "-shared", "-fPIC", "-o", library, source], check=True, timeout=120)
    done = subprocess.run(
        [sys.executable, "-c", START + script, library],
        env=os.environ | {"LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == 2 * "as wanted\n"
