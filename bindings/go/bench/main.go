// Command bench makes a table of what the benchmarks of this folder print:
//
//	go test -bench . | go run .
//
// Its last column is the time of a task's first row, which is livebuf, as a part of the other's: 0.01 means a
// hundredth.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	line := regexp.MustCompile(`^Benchmark(\S+)/([a-z_]+)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op` +
		`(?:\s+([\d.]+) MB/s)?.*?(\d+) allocs/op`)
	type result struct {
		task, peer, speed, allocations string
		ns                             float64
	}
	var results []*result
	found, firsts := map[string]*result{}, map[string]*result{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			if text := lines.Text(); !strings.HasPrefix(text, "Benchmark") {
				fmt.Println(text)
			}
			continue
		}
		r, ok := found[m[1]+"/"+m[2]]
		if !ok {
			r = &result{task: m[1], peer: m[2], ns: math.Inf(1)}
			found[m[1]+"/"+m[2]] = r
			results = append(results, r)
			if firsts[r.task] == nil {
				firsts[r.task] = r
			}
		}
		// Of several runs the fastest one was disturbed least.
		if ns, err := strconv.ParseFloat(m[3], 64); err == nil && ns < r.ns {
			r.ns, r.speed, r.allocations = ns, m[4], m[5]
		}
	}
	fmt.Printf("%-15s %-16s %14s %9s %8s %9s\n", "task", "by", "ns", "MB/s", "allocs", "first /")
	for _, r := range results {
		fmt.Printf("%-15s %-16s %14.1f %9s %8s %9.3g\n", r.task, r.peer, r.ns, r.speed, r.allocations,
			firsts[r.task].ns/r.ns)
	}
}
