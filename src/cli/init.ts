import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { whyUnwritable } from '../diagnostics/system-error.ts'
import { defineCommand, UsageError } from './define.ts'
import { readOwnFile } from './own-files.ts'
import { readArgs } from './read-args.ts'

const KINDS = ['http', 'llm', 'mcp'] as const
const DEFAULT_FILE = 'portcullis.yaml'
/** What stands in the examples where a file of one's own has the digest of its first key. */
const NO_DIGEST = '0'.repeat(64)

export const init = defineCommand({
  name: 'init',
  summary: 'write a commented configuration to start from',
  help: `portcullis init [http | llm | mcp] [-f FILE] [--force]

Writes a configuration with comments, and prints an API key that it accepts; the file has
only the digest of the key. There are no prompts.

  http              in front of an HTTP service (default)
  llm               in front of language models
  mcp               in front of MCP servers

  -f, --file FILE   where to (default ${DEFAULT_FILE}; - for the standard output)
      --force       replace a file that is there

Exit code: 0, 1 if the file cannot be written or is there already, 2 for a usage error.`,
  run: (args, { out, err }) => {
    const { kind, file, isForced } = parse(args)
    const key = randomBytes(24).toString('base64url')
    const text = readOwnFile(`examples/init/${kind}.yaml`).replaceAll(
      NO_DIGEST,
      createHash('sha256').update(key).digest('hex'),
    )
    if (file === '-') {
      out(text)
      err(`The first API key is ${key}\n`)
      return 0
    }
    try {
      writeFileSync(file, text, { flag: isForced ? 'w' : 'wx' })
    } catch (error) {
      const hint =
        (error as NodeJS.ErrnoException).code === 'EEXIST' ? ': `--force` replaces it' : ''
      err(`portcullis init: ${file} cannot be written: ${whyUnwritable(error)}${hint}\n`)
      return 1
    }
    out(`${file} is written. Next:

  portcullis check ${file}
  portcullis run -f ${file}

It accepts the API key ${key}
The file has only its digest: keep the key, it is not shown again.
`)
    return 0
  },
})

function parse(args: readonly string[]) {
  const { values, positionals } = readArgs({
    args: [...args],
    allowPositionals: true,
    options: { file: { type: 'string', short: 'f' }, force: { type: 'boolean' } },
  })
  const [word = 'http', ...more] = positionals
  const kind = KINDS.find((one) => one === word)
  if (kind === undefined || more.length > 0) {
    throw new UsageError(
      `there is no example for \`${[word, ...more].join(' ')}\`: http, llm and mcp are`,
    )
  }
  return { kind, file: values.file ?? DEFAULT_FILE, isForced: values.force === true }
}
