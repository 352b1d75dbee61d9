import { readFileSync, writeFileSync } from 'node:fs'
import { extname } from 'node:path'
import { stringify } from 'yaml'
import { sentenceOf, whyUnwritable } from '../diagnostics/system-error.ts'
import { convertAgentgateway } from './convert/agentgateway.ts'
import { convertCaddyfile } from './convert/caddyfile.ts'
import type { Conversion, Lost } from './convert/conversion.ts'
import { convertManifests } from './convert/kubernetes.ts'
import { convertNginx } from './convert/nginx.ts'
import { ConvertError } from './convert/nginx-syntax.ts'
import { defineCommand, UsageError } from './define.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'

const READERS: Readonly<Record<string, (text: string, file: string) => Conversion>> = {
  agentgateway: convertAgentgateway,
  caddy: convertCaddyfile,
  'envoy-gateway': convertManifests,
  kubernetes: convertManifests,
  nginx: convertNginx,
}
const LITELLM_FILE =
  'this is a file of LiteLLM, which cannot be converted; docs/migrate/litellm.md shows what to write instead'
const KINDS = Object.keys(READERS)

export const convert = defineCommand({
  name: 'convert',
  summary: 'convert the configuration of another gateway',
  help: `portcullis convert FILE [--from KIND] [-o FILE] [--format text|json]

Reads the configuration of another gateway, writes the equivalent for this gateway, and lists
everything that could not be converted. If a setting that guards a route cannot be converted,
the route denies all requests until you write a rule for it.

      --from KIND     ${KINDS.join(', ')};
                      detected from the file by default
  -o, --output FILE   output file (default: standard output)
      --format FORMAT text (default), or json: the configuration and the list
      --json          short form of --format json

Exit code: 0 if everything was converted, 1 if something was not or the file cannot be read,
2 for a usage error.`,
  run: (args, { out, err, readInput }) => {
    const { file, from, output, isJson } = parse(args)
    let text: string
    try {
      text = file === '-' ? readInput() : readFileSync(file, 'utf8')
    } catch (error) {
      err(`portcullis convert: cannot read ${file}: ${sentenceOf(error)}\n`)
      return 1
    }
    let conversion: Conversion
    try {
      if (from === undefined && LITELLM.test(text)) throw new ConvertError(1, LITELLM_FILE)
      conversion = (READERS[from ?? guess(file, text)] as (typeof READERS)[string])(text, file)
    } catch (error) {
      if (!(error instanceof ConvertError)) throw error
      err(`portcullis convert: ${file}:${error.line}: ${shortened(error.message)}\n`)
      return 1
    }
    const { document } = conversion
    const lost = inOrder(conversion.lost)
    const written = isJson
      ? `${JSON.stringify({ configuration: document, notCarriedOver: lost }, undefined, 2)}\n`
      : stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })
    if (output === undefined) out(written)
    else {
      try {
        writeFileSync(output, written)
      } catch (error) {
        err(`portcullis convert: cannot write ${output}: ${whyUnwritable(error)}\n`)
        return 1
      }
    }
    if (!isJson && lost.length > 0) {
      err(`Not converted:\n${lost.map((one) => `  ${renderLost(file, one)}\n`).join('')}`)
    }
    return lost.length === 0 ? 0 : 1
  },
})

/** Removes duplicates, which inheritance by several servers causes, and sorts by line. */
function inOrder(lost: readonly Lost[]): readonly Lost[] {
  const once = new Map(lost.map((one) => [JSON.stringify(one), one]))
  return [...once.values()].sort((one, other) => (one.line ?? 0) - (other.line ?? 0))
}

/** Input of an unexpected format may yield text of any length. */
function shortened(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE)}…`
}

const MAX_MESSAGE = 400

function renderLost(file: string, { line, what, why }: Lost): string {
  return `${line === undefined ? '' : `${file}:${line}: `}${shortened(what)}: ${shortened(why)}`
}

/** Files whose settings have other meanings here. */
const LITELLM = /^\s*(?:- )?(?:model_list|litellm_settings|litellm_params):/m

function guess(file: string, text: string): string {
  if (/(^|\/)Caddyfile[^/]*$/.test(file)) return 'caddy'
  if (['.yaml', '.yml', '.json'].includes(extname(file))) {
    return /^\s*"?kind"?:/m.test(text) ? 'kubernetes' : 'agentgateway'
  }
  if (extname(file) === '.conf' || /^\s*(server|http|upstream)\b[^\n]*\{/m.test(text))
    return 'nginx'
  throw new UsageError(
    `cannot detect the kind of ${file}: specify it with --from (${KINDS.join(', ')})`,
  )
}

function parse(args: readonly string[]) {
  const { values, positionals } = readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      file: { type: 'string', short: 'f' },
      from: { type: 'string' },
      output: { type: 'string', short: 'o' },
      ...FORMAT,
    },
  })
  const { from, output } = values
  const files = [...(values.file === undefined ? [] : [values.file]), ...positionals]
  const [file] = files
  if (file === undefined || files.length > 1) throw new UsageError('specify exactly one file')
  if (from !== undefined && !KINDS.includes(from)) {
    throw new UsageError(`unknown kind \`${from}\`; available: ${KINDS.join(', ')}`)
  }
  return { file, from, output, isJson: formatOf(values, ['text', 'json']) === 'json' }
}
