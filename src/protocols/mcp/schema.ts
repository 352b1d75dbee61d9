import type { McpTarget } from '../../model/backend.ts'
import { operationsOf } from './openapi/operations.ts'
import { readDocument } from './openapi/schema.ts'

/*
 * The pin file: the state of MCP tools when they were approved. `portcullis pin` writes it, and
 * people review it like code.
 */

/** The parts of a tool that are pinned, in addition to its name. */
export const PINNED_PARTS = [
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
] as const

export type PinnedPart = (typeof PINNED_PARTS)[number]

/** The digest of each part that the tool has. */
export type ToolPin = Readonly<Partial<Record<PinnedPart, string>>>

/** By the name of the server, then by the name of the tool. */
export type PinFile = ReadonlyMap<string, ReadonlyMap<string, ToolPin>>

const VERSION = 1
const DIGEST = /^sha256:[0-9a-f]{64}$/

/** Returns the pins of a file, or a string that describes the problem. */
export function readPinFile(text: string): PinFile | string {
  let written: unknown
  try {
    written = JSON.parse(text)
  } catch {
    return 'it is not JSON'
  }
  if (!isRecord(written)) return 'it is not a JSON object'
  const { version, targets, ...others } = written
  const [other] = Object.keys(others)
  if (other !== undefined) return `unknown member \`${other}\``
  if (version !== VERSION) return `\`version\` must be ${VERSION}`
  if (!isRecord(targets)) return '`targets` is missing'
  const file = new Map<string, ReadonlyMap<string, ToolPin>>()
  for (const [target, tools] of Object.entries(targets)) {
    if (!isRecord(tools)) return `the tools of \`${target}\` must be an object`
    const pins = new Map<string, ToolPin>()
    for (const [tool, pin] of Object.entries(tools)) {
      if (!isToolPin(pin))
        return `the pin of tool \`${tool}\` of \`${target}\` must contain digests`
      pins.set(tool, pin)
    }
    file.set(target, pins)
  }
  return file
}

export function writePinFile(file: PinFile): string {
  const targets = sorted(file).map(([target, tools]) => {
    const own = sorted(tools).map(([tool, pin]) => [tool, ordered(pin)] as const)
    return [target, Object.fromEntries(own)] as const
  })
  const written = { version: VERSION, targets: Object.fromEntries(targets) }
  return `${JSON.stringify(written, undefined, 2)}\n`
}

/** Returns the parts in which two pins differ. */
export function changedParts(pin: ToolPin, other: ToolPin): readonly PinnedPart[] {
  return PINNED_PARTS.filter((part) => pin[part] !== other[part])
}

/**
 * Returns the tools of a server that clients may see: the pinned ones, and for an API those in its
 * description. Undefined if only the server knows.
 */
export function knownTools({
  name,
  transport,
  options,
  pins,
}: McpTarget): readonly string[] | undefined {
  const { schema } = options as { readonly schema?: { readonly text?: string } }
  const document =
    transport === 'openapi' && schema?.text !== undefined ? readDocument(schema.text) : undefined
  const offered =
    typeof document === 'object'
      ? operationsOf(document, undefined).map(({ tool }) => tool.name)
      : undefined
  if (pins?.mode !== 'Enforce') return offered
  const file = readPinFile(pins.file.text)
  if (typeof file === 'string') return offered
  const pinned = [...(file.get(name)?.keys() ?? [])]
  return offered === undefined ? pinned : pinned.filter((tool) => offered.includes(tool))
}

function isToolPin(value: unknown): value is ToolPin {
  if (!isRecord(value)) return false
  return Object.entries(value).every(
    ([part, digest]) =>
      (PINNED_PARTS as readonly string[]).includes(part) &&
      typeof digest === 'string' &&
      DIGEST.test(digest),
  )
}

function ordered(pin: ToolPin): ToolPin {
  const parts = PINNED_PARTS.flatMap((part) =>
    pin[part] === undefined ? [] : [[part, pin[part]] as const],
  )
  return Object.fromEntries(parts)
}

/** By code units, so that the bytes are the same on every machine. */
function sorted<T>(map: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
