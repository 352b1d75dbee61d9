import { createHash, randomBytes } from 'node:crypto'
import { statSync, writeFileSync } from 'node:fs'
import { whyUnwritable } from '../diagnostics/system-error.ts'
import { defineCommand, UsageError } from './define.ts'
import { readOwnFile } from './own-files.ts'
import { DEFAULT_FILE, FORMAT, formatOf, readArgs } from './read-args.ts'

const KINDS = ['http', 'llm', 'mcp'] as const
/** The placeholder in the examples for the digest of the first key. */
const NO_DIGEST = '0'.repeat(64)

export const init = defineCommand({
  name: 'init',
  summary: 'create a commented starter configuration',
  help: `portcullis init [http | llm | mcp] [-f FILE] [--force] [--format text|json]

Writes a commented configuration and prints an API key that it accepts; the file contains
only the hash of the key. Runs without prompts.

  http              in front of an HTTP service (default)
  llm               in front of language models
  mcp               in front of MCP servers

  -f, --file FILE   output file (default ${DEFAULT_FILE}; - for standard output)
      --force       overwrite an existing file
      --format json the name of the file and the API key as JSON; short form: --json

Exit code: 0; 1 if the file exists or cannot be written; 2 for a usage error.`,
  run: (args, { out, err }) => {
    const { kind, file, isForced, isJson } = parse(args)
    const key = randomBytes(24).toString('base64url')
    const text = readOwnFile(`examples/init/${kind}.yaml`).replaceAll(
      NO_DIGEST,
      createHash('sha256').update(key).digest('hex'),
    )
    if (file === '-') {
      if (isJson) throw new UsageError('--format json needs an output file')
      out(text)
      err(`API key: ${key}\n`)
      return 0
    }
    try {
      writeFileSync(file, text, { flag: isForced ? 'w' : 'wx' })
    } catch (error) {
      err(`portcullis init: cannot write ${file}: ${whyNot(file, error)}\n`)
      return 1
    }
    if (isJson) {
      out(`${JSON.stringify({ file, apiKey: key }, undefined, 2)}\n`)
      return 0
    }
    const named = file === DEFAULT_FILE ? '' : ` ${file}`
    out(`Created ${file}. Next steps:

  portcullis check${named}
  portcullis run${named}

API key: ${key}
The file contains only its hash. Save the key: it is not shown again.
`)
    return 0
  },
})

function whyNot(file: string, error: unknown): string {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return whyUnwritable(error)
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return 'it is a directory'
  return `${whyUnwritable(error)}; use \`--force\` to overwrite it`
}

function parse(args: readonly string[]) {
  const { values, positionals } = readArgs({
    args: [...args],
    allowPositionals: true,
    options: { file: { type: 'string', short: 'f' }, force: { type: 'boolean' }, ...FORMAT },
  })
  const [word = 'http', ...more] = positionals
  const kind = KINDS.find((one) => one === word)
  if (kind === undefined || more.length > 0) {
    throw new UsageError(
      `unknown example \`${[word, ...more].join(' ')}\`; available: http, llm, mcp`,
    )
  }
  const isJson = formatOf(values, ['text', 'json']) === 'json'
  return { kind, file: values.file ?? DEFAULT_FILE, isForced: values.force === true, isJson }
}
