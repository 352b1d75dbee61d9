// Reads questions as JSON lines, {"expr": …, "env": {name: type}, "vars": {name: CEL text}}, and
// responds to each with a line: the value, or the error and the stage that reported it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

type question struct {
	Expr string            `json:"expr"`
	Env  map[string]string `json:"env"`
	Vars map[string]string `json:"vars"`
}

type outcome struct {
	Value map[string]any `json:"value,omitempty"`
	Type  string         `json:"type,omitempty"`
	Stage string         `json:"stage,omitempty"`
	Error string         `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		line, err := json.Marshal(reply(asked))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		out.Write(line)
		out.WriteByte('\n')
	}
}

func reply(asked question) (result outcome) {
	defer func() {
		if crash := recover(); crash != nil {
			result = outcome{Stage: "crash", Error: fmt.Sprint(crash)}
		}
	}()
	env, err := environment(asked.Env)
	if err != nil {
		return outcome{Stage: "env", Error: err.Error()}
	}
	vars := map[string]any{}
	for name, text := range asked.Vars {
		value, problem := literal(text)
		if problem != "" {
			return outcome{Stage: "vars", Error: name + ": " + problem}
		}
		vars[name] = value
	}
	parsed, issues := env.Parse(asked.Expr)
	if issues.Err() != nil {
		return outcome{Stage: "parse", Error: issues.Err().Error()}
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return outcome{Stage: "check", Error: issues.Err().Error()}
	}
	program, err := env.Program(checked)
	if err != nil {
		return outcome{Stage: "program", Error: err.Error()}
	}
	value, _, err := program.Eval(vars)
	if err != nil {
		return outcome{Stage: "eval", Error: err.Error(), Type: checked.OutputType().String()}
	}
	return outcome{Value: render(value), Type: checked.OutputType().String()}
}

var libraries = []cel.EnvOption{
	cel.CrossTypeNumericComparisons(true),
	cel.DefaultUTCTimeZone(true),
	cel.EnableErrorOnBadPresenceTest(true),
	cel.EnableIdentifierEscapeSyntax(),
	cel.OptionalTypes(),
	ext.Bindings(),
	ext.Encoders(),
	ext.Lists(),
	ext.Math(),
	ext.Network(),
	ext.Regex(),
	ext.Sets(),
	ext.Strings(),
	ext.TwoVarComprehensions(),
}

var environments = map[string]*cel.Env{}

func environment(variables map[string]string) (*cel.Env, error) {
	key, _ := json.Marshal(variables)
	if env, found := environments[string(key)]; found {
		return env, nil
	}
	options := append([]cel.EnvOption{}, libraries...)
	for name, text := range variables {
		declared, rest := readType(text)
		if declared == nil || rest != "" {
			return nil, fmt.Errorf("no such type: %s", text)
		}
		options = append(options, cel.Variable(name, declared))
	}
	env, err := cel.NewEnv(options...)
	if err == nil {
		environments[string(key)] = env
	}
	return env, err
}

var literals = map[string]any{}

// A variable's value is itself an expression, so that every value can be written exactly.
func literal(text string) (any, string) {
	if value, found := literals[text]; found {
		return value, ""
	}
	env, err := environment(nil)
	if err != nil {
		return nil, err.Error()
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err().Error()
	}
	program, err := env.Program(checked)
	if err != nil {
		return nil, err.Error()
	}
	value, _, err := program.Eval(map[string]any{})
	if err != nil {
		return nil, err.Error()
	}
	literals[text] = value
	return value, ""
}
