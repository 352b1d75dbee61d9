import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { renderCount, renderTerminal } from '../diagnostics/render.ts'
import { hasErrors } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import {
  changedParts,
  type PinFile,
  readPinFile,
  type ToolPin,
  writePinFile,
} from '../protocols/mcp/schema.ts'
import { type LoadOptions, loadFile, readText } from '../sources/file/load.ts'
import { defineCommand, UsageError } from './define.ts'
import { type ListedTools, listTools, type PinnedTarget } from './listed-tools.ts'
import { type Paint, painter } from './paint.ts'
import { configurationOf, FILES, FORMAT, formatOf, readArgs } from './read-args.ts'

export const pin = defineCommand({
  name: 'pin',
  summary: 'write the current tools of MCP servers to their pin files',
  mayTakeLong: true,
  help: `portcullis pin [FILE] [--target NAME]... [--check] [--format text|json]

Connects to the MCP servers that have \`pins\` in the configuration, lists their tools, and
writes digests of the title, description, schemas and annotations of each tool to the files
specified in \`pins\`. Review these files like code: every tool in them is approved.

  FILE            the configuration; also -f FILE (default: portcullis.yaml in the current
                  folder)
  --target NAME   only this server; can be repeated
  --check         do not write; exit with 1 if a file would change
  --format json   JSON output; short form: --json

Exit code: 0; 1 if the tools of a server cannot be listed, if the configuration has errors or,
with --check, if tools differ from their pins; 2 for a usage error.`,
  run: async (args, { environment, colour, width = 100, out, err }) => {
    const read = parse(args)
    const { values } = read
    const file = resolve(configurationOf(read))
    const format = formatOf(values, ['text', 'json'])
    const { result, settings } = loadUnpinned(file, { environment })
    const { value: model, diagnostics } = result
    if (model === undefined || settings === undefined || hasErrors(diagnostics)) {
      err(`${renderTerminal(diagnostics, { colour, width })}\n\n${renderCount(diagnostics)}\n`)
      return 1
    }
    const targets = pinnedIn(model, values.target)
    const listed = await listTools(model, settings, targets)
    const found = targets.map((target, index): Compared => {
      const path = resolve(dirname(file), target.target.pins?.file.file ?? '')
      return compared(target, path, listed[index] as ListedTools)
    })
    if (values.check !== true) writeAll(found)
    const shown = (path: string) => relative(process.cwd(), path) || path
    if (format === 'json') out(`${JSON.stringify({ targets: found.map(jsonOf) }, undefined, 2)}\n`)
    else out(found.map((one) => render(one, shown(one.path), painter(colour))).join(''))
    const isFailed = found.some(({ problem }) => problem !== undefined)
    const isChanged = found.some(({ changes }) => changes.length > 0)
    return isFailed || (values.check === true && isChanged) ? 1 : 0
  },
})

const EMPTY = writePinFile(new Map())

/** A pin file that does not exist yet counts as empty. */
function loadUnpinned(file: string, options: LoadOptions) {
  const lenient = loadFile(file, {
    ...options,
    readText: (path) => {
      const found = readText(path)
      return 'text' in found ? found : { stamp: found.stamp, text: EMPTY }
    },
  })
  // Any other missing file is an error.
  return hasErrors(lenient.result.diagnostics) ? loadFile(file, options) : lenient
}

function pinnedIn({ backends }: Model, names: readonly string[] = []): readonly PinnedTarget[] {
  const all = backends.flatMap((backend) =>
    backend.kind === 'mcp'
      ? backend.targets.flatMap((target) =>
          target.pins === undefined ? [] : [{ backend, target }],
        )
      : [],
  )
  const available = all.map(({ target }) => target.name)
  if (all.length === 0) throw new UsageError('no MCP server in this configuration has `pins`')
  const unknown = names.find((name) => !available.includes(name))
  if (unknown !== undefined) {
    throw new UsageError(`unknown target \`${unknown}\`; available: ${available.join(', ')}`)
  }
  return names.length === 0 ? all : all.filter(({ target }) => names.includes(target.name))
}

interface Change {
  readonly tool: string
  readonly change: 'added' | 'changed' | 'removed'
  readonly parts: readonly string[]
}

interface Compared {
  readonly target: string
  readonly path: string
  readonly tools: ReadonlyMap<string, ToolPin>
  readonly changes: readonly Change[]
  readonly problem: string | undefined
}

function compared({ target }: PinnedTarget, path: string, listed: ListedTools): Compared {
  const { name } = target
  if (!listed.ok) {
    return { target: name, path, tools: new Map(), changes: [], problem: listed.problem }
  }
  const { tools } = listed
  const before = pinsAt(path).get(name) ?? new Map<string, ToolPin>()
  const names = [...new Set([...before.keys(), ...tools.keys()])].sort()
  const changes = names.flatMap((tool): readonly Change[] => {
    const [was, is] = [before.get(tool), tools.get(tool)]
    if (is === undefined) return [{ tool, change: 'removed', parts: [] }]
    if (was === undefined) return [{ tool, change: 'added', parts: [] }]
    const parts = changedParts(was, is)
    return parts.length === 0 ? [] : [{ tool, change: 'changed', parts }]
  })
  return { target: name, path, tools, changes, problem: undefined }
}

function pinsAt(path: string): PinFile {
  try {
    const file = readPinFile(readFileSync(path, 'utf8'))
    return typeof file === 'string' ? new Map() : file
  } catch {
    return new Map()
  }
}

/** Several servers may share a file: the pins of others are kept. */
function writeAll(found: readonly Compared[]): void {
  for (const path of new Set(found.map((one) => one.path))) {
    const own = found.filter((one) => one.path === path && one.problem === undefined)
    if (own.length === 0) continue
    const file = new Map([
      ...pinsAt(path),
      ...own.map(({ target, tools }) => [target, tools] as const),
    ])
    const beside = `${path}.new`
    writeFileSync(beside, writePinFile(file))
    // A running gateway never reads a partial file.
    renameSync(beside, path)
  }
}

function jsonOf({ target, path, tools, changes, problem }: Compared) {
  return { target, file: path, tools: tools.size, changes, ...(problem && { problem }) }
}

const SIGNS = { added: '+', changed: '~', removed: '-' } as const

function render(found: Compared, path: string, paint: Paint): string {
  const { target, tools, changes, problem } = found
  if (problem !== undefined) return `${paint('bad', `${target}: ${printable(problem)}`)}\n`
  const count = `${tools.size} ${tools.size === 1 ? 'tool' : 'tools'}`
  const same = changes.length === 0 ? ', no changes' : ''
  const lines = changes.map(({ tool, change, parts }) => {
    const what = parts.length === 0 ? '' : `: ${parts.join(', ')}`
    return `  ${SIGNS[change]} ${printable(tool)}${what}\n`
  })
  return `${paint('title', target)} (${path}): ${count}${same}\n${lines.join('')}`
}

/** Names come from servers: their escape sequences must not reach a terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e\u00a1-\u024f]/g, '?')
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      target: { type: 'string', multiple: true },
      check: { type: 'boolean' },
      ...FILES,
      ...FORMAT,
    },
  })
}
