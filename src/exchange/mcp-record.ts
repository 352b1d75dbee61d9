/** The outcome of an MCP request. */
export type McpOutcome =
  | 'success'
  | 'tool-error'
  | 'error'
  | 'denied'
  | 'unknown'
  | 'timeout'
  | 'unreachable'
  | 'cancelled'

/** Items that were removed from a list. */
export interface HiddenItems {
  readonly target: string
  readonly kind: 'tool' | 'prompt' | 'resource' | 'resource-template'
  readonly reason: 'authorization' | 'pin'
  count: number
  /** The first of them. */
  readonly names: string[]
}

const MAX_NAMES = 20

/** What is counted and logged for one MCP message. */
export class McpRecord {
  /** Empty if the message is not a request. */
  method = ''
  /** The server that receives it. */
  target = 'none'
  /** The tool, prompt or resource, by the client's name for it. */
  asked = ''
  /** The tool that is called, by its name on its server. */
  tool = 'none'
  /** The server is known to list the tool. */
  isListed = false
  transport: 'streamable-http' | 'sse' = 'streamable-http'
  session: 'opened' | 'refused' | undefined = undefined
  /** Undefined until known. */
  outcome: McpOutcome | undefined = undefined
  readonly hidden: HiddenItems[] = []
  /** The records of a batch, one per message; this record is then not about any of them. */
  batch: readonly McpRecord[] = []

  hide({ target, kind, reason }: Omit<HiddenItems, 'count' | 'names'>, name: string): void {
    const known = this.hidden.find(
      (own) => own.target === target && own.kind === kind && own.reason === reason,
    )
    if (known === undefined) this.hidden.push({ target, kind, reason, count: 1, names: [name] })
    else {
      known.count++
      if (known.names.length < MAX_NAMES) known.names.push(name)
    }
  }
}
