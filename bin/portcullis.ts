#!/usr/bin/env node
// First: before anything that Node loads looks at the environment.
import '../src/cli/no-color.ts'
import { readFileSync } from 'node:fs'
import own from '../package.json' with { type: 'json' }
import { startProgress } from '../src/cli/progress.ts'
import { start } from '../src/cli/start.ts'
import { sentenceOf } from '../src/diagnostics/system-error.ts'

const { env, stdout } = process

/** https://no-color.org, https://force-color.org, and terminals that say that they have none. */
function hasColours(): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false
  const forced = env['FORCE_COLOR'] ?? ''
  if (forced !== '') return forced !== '0' && forced !== 'false'
  return stdout.isTTY === true && env['TERM'] !== 'dumb'
}

/** Whether somebody looks at a line that is written over and over. */
function isWatched(): boolean {
  return process.stderr.isTTY === true && env['TERM'] !== 'dumb'
}

// Whoever reads what is printed may have seen enough: `portcullis validate … | head`.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return
  process.stderr.write(`portcullis: cannot write the output: ${sentenceOf(error)}\n`)
  process.exit(1)
})

const code = start(
  process.argv.slice(2),
  {
    out: (text) => void stdout.write(text),
    err: (text) => void process.stderr.write(text),
    environment: env,
    readInput: () => readFileSync(0, 'utf8'),
    // A terminal that does not know how wide it is says 0.
    width: stdout.isTTY ? stdout.columns || 80 : undefined,
    colour: hasColours(),
    startProgress: isWatched() ? startProgress : undefined,
  },
  own.version,
)
// Not awaited here: a release is no module, and a script cannot wait.
void code.then((exitCode) => {
  process.exitCode = exitCode
})
