// Obeys commands, JSON lines on stdin: compiles expressions with cel-go and evaluates them in
// slices, each slice measured by itself in CPU time, so that the caller can alternate engines.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

type command struct {
	Do       string            `json:"do"`
	Name     string            `json:"name"`
	Over     string            `json:"over"`
	Exprs    []string          `json:"exprs"`
	Contexts []json.RawMessage `json:"contexts"`
	Times    int               `json:"times"`
}

type reply struct {
	Nanoseconds int64  `json:"ns"`
	True        int    `json:"true"`
	Error       string `json:"error,omitempty"`
}

// Requests that are evaluated in turn.
type contexts struct {
	all  []cel.Activation
	next int
}

var (
	programs = map[string][]cel.Program{}
	requests = map[string]*contexts{}
)

func main() {
	env, err := cel.NewEnv(
		cel.Variable("jwt", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("request", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("source", cel.MapType(cel.StringType, cel.DynType)),
		ext.Network(),
		ext.Strings(),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked command
		if err := json.Unmarshal(line, &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		result, err := obey(env, asked)
		if err != nil {
			result = reply{Error: err.Error()}
		}
		if err := out.Encode(result); err != nil {
			return
		}
	}
}

func obey(env *cel.Env, asked command) (reply, error) {
	switch asked.Do {
	case "load":
		return load(env, asked)
	case "drop":
		delete(programs, asked.Name)
		return reply{}, nil
	case "contexts":
		all, err := readContexts(asked.Contexts)
		requests[asked.Name] = &contexts{all: all}
		return reply{}, err
	case "slice":
		return slice(programs[asked.Name], requests[asked.Over], asked.Times), nil
	}
	return reply{}, fmt.Errorf("no such command: %s", asked.Do)
}

func load(env *cel.Env, asked command) (reply, error) {
	before := cpu()
	loaded := make([]cel.Program, 0, len(asked.Exprs))
	for _, text := range asked.Exprs {
		checked, issues := env.Compile(text)
		if issues.Err() != nil {
			return reply{}, issues.Err()
		}
		program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize))
		if err != nil {
			return reply{}, err
		}
		loaded = append(loaded, program)
	}
	programs[asked.Name] = loaded
	return reply{Nanoseconds: cpu() - before}, nil
}

// slice decides `times` times, each for the next request: true where any expression is.
func slice(set []cel.Program, over *contexts, times int) reply {
	matched := 0
	before := cpu()
	for i := 0; i < times; i++ {
		request := over.all[over.next]
		if over.next++; over.next == len(over.all) {
			over.next = 0
		}
		for _, program := range set {
			value, _, err := program.Eval(request)
			if err == nil && value.Value() == true {
				matched++
				break
			}
		}
	}
	return reply{Nanoseconds: cpu() - before, True: matched}
}

// CPU time of the whole process, its collector of garbage included.
func cpu() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
