# shellcheck shell=bash
# Sourced by scripts/test and scripts/full: numbered stages, their duration, and a count of tests.
#
#   stage "name" "command to reproduce" function [args...]
#   finish
#
# The first stage that fails ends the run. The last line always is "N passed, N failed", counted
# from what ctest and node reported; a failed stage without failed tests counts as one failure, so
# that the line never says 0 failed for a failed run.

n_passed=0
n_failed=0
n_skipped=0
n_stage=0
results=build/test-results

mkdir -p "$results"

stage() {
    local name=$1 reproduce=$2 start=$SECONDS failed_before=$n_failed
    shift 2
    n_stage=$((n_stage + 1))
    printf '\n=== %d. %s\n' "$n_stage" "$name"
    if "$@"; then
        printf -- '--- %s: ok, %d s\n' "$name" "$((SECONDS - start))"
        return 0
    fi
    printf -- '--- %s: FAILED after %d s\n' "$name" "$((SECONDS - start))"
    printf 'reproduce with: %s\n' "$reproduce"
    [ "$n_failed" -gt "$failed_before" ] || n_failed=$((n_failed + 1))
    finish
}

finish() {
    printf '\n%d stages in %d s' "$n_stage" "$SECONDS"
    [ "$n_skipped" -eq 0 ] || printf ', %d tests skipped' "$n_skipped"
    printf '\n%d passed, %d failed\n' "$n_passed" "$n_failed"
    [ "$n_failed" -eq 0 ]
    exit
}

# build <preset> <target> [cmake options...]; "all" is a target too.
build() {
    local preset=$1 target=$2
    shift 2
    cmake --preset "$preset" "$@" >/dev/null || return
    cmake --build --preset "$preset" --target "$target" -j "$(nproc)" -- --quiet
}

# run_ctest <preset> [ctest options...]; adds to the counts. One more at a time than there are cores:
# some tests wait for a disk or a deadline.
run_ctest() {
    local preset=$1 report=$PWD/$results/$1.xml rc=0 numbers
    shift
    rm -f "$report"
    ctest --test-dir "build/$preset" --output-on-failure --output-junit "$report" -j "$(($(nproc) + 1))" \
        --no-tests=error --progress "$@" | grep -vE '^(Internal|Test project|Label Time|[a-z0-9]+ +=| +Start )' ||
        rc=${PIPESTATUS[0]}
    if numbers=$(junit_numbers "$report"); then
        read -r tests failures skipped <<<"$numbers"
        n_failed=$((n_failed + failures))
        n_skipped=$((n_skipped + skipped))
        n_passed=$((n_passed + tests - failures - skipped))
    else
        rc=1
    fi
    return "$rc"
}

# "tests failures skipped" of a junit report.
junit_numbers() {
    python3 - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree

suite = tree.parse(sys.argv[1]).getroot()
skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
print(suite.get("tests"), suite.get("failures"), skipped)
PYTHON
}

# run_node <name> <file>...; adds to the counts. The program under test is $INFEROMETER_BIN.
# Tests mostly wait, so four files run at a time, the largest first; those that say "@alone" measure
# time, or take what the machine has, and run one by one before.
run_node() {
    local name=$1 rc=0 file
    local -a alone=() others=()
    shift
    rm -f "$results/$name"-*.tap
    while read -r file; do
        if grep -q '@alone' "$file"; then
            alone+=("$file")
        else
            others+=("$file")
        fi
    done < <(ls -S "$@")
    [ "${#alone[@]}" -eq 0 ] || node_files "$name" 1 "${alone[@]}" || rc=$?
    [ "${#others[@]}" -eq 0 ] || node_files "$name" 4 "${others[@]}" || rc=$?
    for file in "$results/$name"-*.tap; do
        node_count "$file"
    done
    return "$rc"
}

# node_files <name> <how many at a time> <file>...
node_files() {
    local name=$1 at_once=$2
    shift 2
    printf '%s\0' "$@" | results=$results xargs -0 -P "$at_once" -I '{}' bash -c 'node_file "$1" "$2"' _ "$name" '{}'
}

# What one file has to say is printed when it is through, not in between another's.
node_file() {
    local at rc=0
    at=$results/$1-$(basename "$2" .test.mjs)
    node --test --test-reporter=spec --test-reporter-destination=stdout \
        --test-reporter=tap --test-reporter-destination="$at.tap" "$2" >"$at.out" 2>&1 || rc=$?
    flock "$results" cat "$at.out"
    return "$rc"
}
export -f node_file

# Adds what a report says to the counts, and takes it away.
node_count() {
    [ -f "$1" ] || return 0
    n_passed=$((n_passed + $(tap_number pass "$1")))
    n_failed=$((n_failed + $(tap_number fail "$1") + $(tap_number cancelled "$1")))
    n_skipped=$((n_skipped + $(tap_number skipped "$1")))
    mv "$1" "$1.counted"
}

tap_number() {
    local number
    number=$(sed -n "s/^# $1 \([0-9]*\)$/\1/p" "$2" | tail -n 1)
    echo "${number:-0}"
}

# Packages of the tests in that directory (tests/integration), when there are any and they are not in place yet.
node_packages() {
    local dir=${1:-tests/integration}
    [ -f "$dir/package.json" ] || return 0
    grep -q '"\(dev\)\?[dD]ependencies"' "$dir/package.json" || return 0
    if [ ! -f "$dir/node_modules/.package-lock.json" ] ||
        [ "$dir/package-lock.json" -nt "$dir/node_modules/.package-lock.json" ]; then
        npm ci --prefix "$dir" --no-audit --no-fund --loglevel=error || return
        touch "$dir/node_modules/.package-lock.json"
    fi
}

# The pages: their types, and all of them in a browser.
pages() {
    web/packages && web/node_modules/.bin/tsc -p web && node_packages tests/e2e &&
        INFEROMETER_BIN=$PWD/build/release/inferometer run_node pages tests/e2e/*.test.mjs
}
