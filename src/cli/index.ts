import { nearestName } from '../diagnostics/nearest.ts'
import { audit } from './audit.ts'
import { completionOf } from './completion.ts'
import { config } from './config.ts'
import { convert } from './convert.ts'
import { type Command, type Terminal, UsageError } from './define.ts'
import { demo } from './demo.ts'
import { diff } from './diff.ts'
import { effective } from './effective.ts'
import { explain } from './explain.ts'
import { formatFile } from './format-file.ts'
import { hashKey } from './hash-key.ts'
import { hashPassword } from './hash-password.ts'
import { init } from './init.ts'
import { invoke, renderUsageError } from './invoke.ts'
import { lintCommand } from './lint.ts'
import { logLevel } from './log-level.ts'
import { pin } from './pin.ts'
import { schema } from './print-schema.ts'
import { proveCommand } from './prove.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'
import { replay } from './replay.ts'
import { run } from './run.ts'
import { suggest } from './suggest.ts'
import { testPolicies } from './test-policies.ts'
import { token } from './token.ts'
import { check, validate } from './validate.ts'
import { why } from './why.ts'
import { fitTo } from './wrap.ts'

/** All commands, in listing order. */
export const COMMANDS: readonly Command[] = [
  run,
  demo,
  init,
  check,
  validate,
  lintCommand,
  explain,
  effective,
  testPolicies,
  proveCommand,
  diff,
  replay,
  suggest,
  why,
  config,
  logLevel,
  audit,
  pin,
  convert,
  formatFile,
  token,
  hashKey,
  hashPassword,
  schema,
  completionOf(() => COMMANDS),
]

/** Runs `portcullis …`, except for the gateway and the processes that it starts: see ./start.ts. */
export async function runCommand(
  args: readonly string[],
  terminal: Terminal,
  version: string,
): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined) {
    terminal.err(fitTo(overview(), terminal.width))
    return 2
  }
  if (name === 'help' || name === '--help' || name === '-h') {
    const [asked, extra] = rest
    if (extra !== undefined) {
      const said = `unexpected argument \`${extra}\``
      terminal.err(fitTo(renderUsageError('help', said, HELP_USAGE), terminal.width))
      return 2
    }
    if (asked !== undefined) return runCommand([asked, '--help'], terminal, version)
    terminal.out(fitTo(overview(), terminal.width))
    return 0
  }
  if (['version', '--version', '-V', '-v'].includes(name)) {
    return printVersion(rest, terminal, version)
  }
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) {
    const names = [...COMMANDS.map((one) => one.name), 'help', 'version']
    const meant = nearestName(name, names)
    const hint = meant === undefined ? 'see `portcullis help`' : `did you mean \`${meant}\`?`
    terminal.err(`portcullis: unknown command \`${name}\`: ${hint}\n`)
    return 2
  }
  return invoke(command, rest, terminal)
}

const HELP_USAGE = 'portcullis help [COMMAND]'
const VERSION_USAGE = 'portcullis version [--format text|json]'

function printVersion(args: readonly string[], { out, err }: Terminal, version: string): number {
  try {
    const { values } = readArgs({ args: [...args], options: FORMAT })
    const isJson = formatOf(values, ['text', 'json']) === 'json'
    out(isJson ? `${JSON.stringify({ version }, undefined, 2)}\n` : `portcullis ${version}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    err(`portcullis version: ${error.message}\n\n${VERSION_USAGE}\n`)
    return 2
  }
}

function overview(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length))
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return `portcullis: an authorization-first gateway

Usage: portcullis COMMAND [FILE | -f FILE] [options]

${lines.join('\n')}

portcullis help COMMAND   show the options of a command
portcullis explain CODE   explain a message
portcullis version        print the version
`
}
