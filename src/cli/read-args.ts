import { existsSync } from 'node:fs'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearestName } from '../diagnostics/nearest.ts'
import { UsageError } from './define.ts'

/** Parses the options of a command; errors are reported with its help. */
export function readArgs<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError(messageOf(error as Error & { readonly code?: string }, config))
  }
}

/** Rewords Node's messages, which refer to JavaScript and suggest no similar names. */
function messageOf(
  { code, message }: Error & { readonly code?: string },
  { options = {}, allowNegative = false }: ParseArgsConfig,
): string {
  const option = /'(-{1,2}[^' ]+)/.exec(message)?.[1] ?? /--?[\w-]+/.exec(message)?.[0] ?? ''
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const name = option.replace(/^-+/, '').replace(/=.*$/, '')
    const meant = option.startsWith('--')
      ? nearestName(name, namesOf(options, allowNegative))
      : undefined
    const hint = meant === undefined ? '' : `: did you mean \`--${meant}\`?`
    return `unknown option \`${option.replace(/=.*$/, '')}\`${hint}`
  }
  if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    const long = /--[\w-]+/.exec(message)?.[0] ?? option
    if (message.includes('does not take an argument')) return `\`${long}\` does not accept a value`
    if (message.includes('ambiguous')) {
      return `\`${long}\` requires a value; write \`${long}=VALUE\` if the value begins with a hyphen`
    }
    return `\`${long}\` requires a value`
  }
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
    const word = /'([^']*)'/.exec(message)?.[1] ?? ''
    return `unexpected argument \`${word}\``
  }
  return message
}

/** All names that are valid after `--`. */
function namesOf(
  options: NonNullable<ParseArgsConfig['options']>,
  isNegatable: boolean,
): readonly string[] {
  const names = Object.keys(options)
  const flags = names.filter((name) => isNegatable && options[name]?.type === 'boolean')
  return [...names, ...flags.map((name) => `no-${name}`), 'help']
}

/** Shared by all commands that take files, and by all that print for programs. */
export const FILES = { file: { type: 'string', short: 'f', multiple: true } } as const
export const FORMAT = { format: { type: 'string' }, json: { type: 'boolean' } } as const

/** For commands that also read the objects of a cluster. */
export const CLUSTER = { cluster: { type: 'boolean' } } as const

/** For commands that also read what a running gateway serves. */
export const ADMIN = { admin: { type: 'string' } } as const

/** With `--admin`, the gateway provides the input: no files can be named as well. */
export function withoutFiles(
  { values, positionals }: Read<Readonly<Record<string, unknown>>>,
  others: readonly string[] = [],
): void {
  const [file] = positionals
  if (file !== undefined) throw new UsageError(`\`${file}\` and --admin are mutually exclusive`)
  const other = ['file', ...others].find((name) => values[name] !== undefined)
  if (other !== undefined) throw new UsageError(`\`--${other}\` has no effect with --admin`)
}

/** Represents the cluster in a list of files; no file can have this name. */
export const CLUSTER_PATH = '/\0the cluster'

/** The name of a file in messages. */
export function nameOf(file: string): string {
  return file === CLUSTER_PATH ? 'the cluster' : file
}

interface Named {
  readonly file?: readonly string[]
  readonly cluster?: boolean
}

/** All named files, with or without `-f`; the cluster comes first. */
export function filesOf(read: Read<Named>, missing: string): readonly string[] {
  const files = namedIn(read)
  if (files.length === 0) throw new UsageError(missing)
  return files
}

/** The configuration in the current folder, which commands use if none is named. */
export const DEFAULT_FILE = 'portcullis.yaml'

/** All named configurations, or the one in the current folder. */
export function configurationsOf(read: Read<Named>): readonly string[] {
  const files = namedIn(read)
  return files.length === 0 ? [defaultFile()] : files
}

/** The configuration of commands that take exactly one. */
export function configurationOf(read: Read<Named>): string {
  const [file = '', ...more] = configurationsOf(read)
  if (more.length > 0) throw new UsageError('specify exactly one configuration file')
  return file
}

export function defaultFile(): string {
  if (existsSync(DEFAULT_FILE)) return DEFAULT_FILE
  throw new UsageError(
    `specify a configuration file: the current folder has no ${DEFAULT_FILE} (\`portcullis init\` writes one)`,
  )
}

function namedIn({ values, positionals }: Read<Named>): readonly string[] {
  const cluster = values.cluster === true ? [CLUSTER_PATH] : []
  return [...cluster, ...(values.file ?? []), ...positionals]
}

/** The requested format; `--json` is short for `--format json`. */
export function formatOf<T extends string>(
  { format, json }: { readonly format?: string; readonly json?: boolean },
  available: readonly T[],
): T {
  const name = format ?? (json === true ? 'json' : 'text')
  const known = available.find((one) => one === name)
  if (known !== undefined) return known
  throw new UsageError(`unknown format \`${name}\`; available: ${available.join(', ')}`)
}

interface Read<T> {
  readonly values: T
  readonly positionals: readonly string[]
}
