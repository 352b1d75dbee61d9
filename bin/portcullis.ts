#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import own from '../package.json' with { type: 'json' }
import { runCommand } from '../src/cli/index.ts'

const { env, stdout } = process

// Whoever reads what is printed may have seen enough: `portcullis validate … | head`.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const code = runCommand(
  process.argv.slice(2),
  {
    out: (text) => void stdout.write(text),
    err: (text) => void process.stderr.write(text),
    environment: env,
    readInput: () => readFileSync(0, 'utf8'),
    width: stdout.isTTY ? stdout.columns : undefined,
    // https://no-color.org
    colour: stdout.isTTY === true && (env.NO_COLOR ?? '') === '',
  },
  own.version,
)
// Not awaited here: a release is no module, and a script cannot wait.
void code.then((exitCode) => {
  process.exitCode = exitCode
})
