#!/usr/bin/env bash
# Builds weald for ARM64 Linux and runs tests with an ARM64 Python under qemu: `make test-arm64`, ARGS="..." for pytest.
#
# Needs Debian 12 with the packages g++-12-aarch64-linux-gnu and qemu-user-static. The Python of Debian for ARM64, its
# libraries, and wheels of NumPy, SciPy and scikit-learn are unpacked into build/arm64; nothing is installed.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

for command in aarch64-linux-gnu-g++-12 qemu-aarch64-static apt-get dpkg-deb; do
    command -v "$command" > /dev/null || {
        echo "There is no $command. On Debian 12: apt-get install g++-12-aarch64-linux-gnu qemu-user-static" >&2
        exit 1
    }
done
TOP=$PWD/build/arm64
ROOT=$TOP/root
SITE=$TOP/site
BIN=$PWD/.venv/bin
mkdir -p "$TOP"

# ---- A Python of Debian, from an apt of its own, which leaves that of the system alone

if [ ! -e "$TOP/python" ]; then
    APT=$TOP/apt
    mkdir -p "$APT"/{lists/partial,archives/partial,etc/apt.conf.d,etc/preferences.d,etc/trusted.gpg.d} "$ROOT"
    touch "$APT/status"
    # The sources of the system, which must be Debian's own.
    cp /etc/apt/sources.list.d/debian.sources "$APT/etc/debian.sources" 2> /dev/null ||
        grep "^deb .*debian.* main" /etc/apt/sources.list > "$APT/etc/debian.list"
    sources=$(echo "$APT"/etc/debian.*)
    settings=(
        -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root -o Acquire::Languages=none
        -o Dir::State="$APT" -o Dir::State::status="$APT/status" -o Dir::Cache="$APT" -o Dir::Etc="$APT/etc"
        -o Dir::Etc::sourcelist="$sources" -o Dir::Etc::sourceparts=-
    )
    apt-get "${settings[@]}" -qq update
    apt-get "${settings[@]}" -qq -y --no-install-recommends --download-only install \
        python3.11-minimal libpython3.11-stdlib libpython3.11-dev libstdc++6
    for package in "$APT"/archives/*.deb; do
        dpkg-deb -x "$package" "$ROOT"
    done
    # Only Python's headers: the compiler has those of the C library.
    mkdir -p "$TOP/include/aarch64-linux-gnu"
    cp -r "$ROOT/usr/include/python3.11" "$TOP/include/"
    cp -r "$ROOT/usr/include/aarch64-linux-gnu/python3.11" "$TOP/include/aarch64-linux-gnu/"
    touch "$TOP/python"
fi

# ---- Packages for ARM64

if [ ! -e "$TOP/packages" ]; then
    "$BIN/pip" download --quiet --only-binary :all: --python-version 311 --implementation cp \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
        --dest "$TOP/wheels" "numpy>=1.26" "scikit-learn>=1.6" "narwhals>=1.20" "pandas>=2.1" "hypothesis>=6.100" \
        "pytest>=8.2,<9.2" "pytest-timeout>=2.3"
    mkdir -p "$SITE"
    for wheel in "$TOP"/wheels/*.whl; do
        "$BIN/python" -m zipfile -e "$wheel" "$SITE"
    done
    touch "$TOP/packages"
fi

# ---- weald

"$BIN/cmake" -S . -B "$TOP/cmake" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/arm64/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Release -DWEALD_WERROR=ON -DPython_EXECUTABLE="$BIN/python" \
    -DPython_INCLUDE_DIR="$TOP/include/python3.11" -DCMAKE_CXX_FLAGS="-isystem $TOP/include" > "$TOP/cmake.log" ||
    { cat "$TOP/cmake.log"; exit 1; }
"$BIN/ninja" -C "$TOP/cmake" _core_baseline
rm -rf "$SITE/weald"
cp -r src/weald "$SITE/weald"
rm -f "$SITE"/weald/*.so
cp "$TOP"/cmake/_core_baseline*.so "$SITE/weald/_core_baseline.cpython-311-aarch64-linux-gnu.so"
mkdir -p "$SITE/weald-0.dist-info"
printf 'Metadata-Version: 2.1\nName: weald\nVersion: %s\n' \
    "$("$BIN/python" -c 'from importlib.metadata import version; print(version("weald"))')" > "$SITE/weald-0.dist-info/METADATA"

# ---- The tests

python() {
    qemu-aarch64-static -L "$ROOT" -E PYTHONHOME="$ROOT/usr" -E PYTHONPATH="$SITE" -E PYTHONDONTWRITEBYTECODE=1 \
        -E OPENBLAS_NUM_THREADS=1 "$ROOT/usr/bin/python3.11" "$@"
}
python -c 'import platform, sys; print("Python", sys.version.split()[0], "on", platform.machine())'
if [ $# = 0 ]; then
    set -- -m "not slow" tests/golden tests/core tests/laws/test_engines_agree.py
fi
python -m pytest -q -p no:cacheprovider "$@"
