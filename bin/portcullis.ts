#!/usr/bin/env node
// Must come first, before any module that Node loads reads the environment.
import '../src/cli/no-color.ts'
import { readFileSync } from 'node:fs'
import own from '../package.json' with { type: 'json' }
import { startProgress } from '../src/cli/progress.ts'
import { start } from '../src/cli/start.ts'
import { sentenceOf } from '../src/diagnostics/system-error.ts'

const { env, stdout } = process

/** See https://no-color.org, https://force-color.org; `TERM=dumb` means no color support. */
function hasColours(): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false
  const forced = env['FORCE_COLOR'] ?? ''
  if (forced !== '') return forced !== '0' && forced !== 'false'
  return stdout.isTTY === true && env['TERM'] !== 'dumb'
}

/** Whether stderr is a terminal that can rewrite a progress line in place. */
function isWatched(): boolean {
  return process.stderr.isTTY === true && env['TERM'] !== 'dumb'
}

// The reader may close the pipe early: `portcullis validate … | head`.
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
    // A terminal of unknown width reports 0.
    width: stdout.isTTY ? stdout.columns || 80 : undefined,
    colour: hasColours(),
    startProgress: isWatched() ? startProgress : undefined,
  },
  own.version,
)
// Not awaited: a release is a script, not a module, and has no top-level await.
void code.then((exitCode) => {
  process.exitCode = exitCode
})
