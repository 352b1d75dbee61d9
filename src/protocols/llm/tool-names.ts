import type { NeutralRequest, Part, StreamEvent } from './neutral.ts'
import { digest } from './parts.ts'

/**
 * Replaces tool names that the provider would reject, such as those of federated MCP servers, in
 * requests, and restores them in responses.
 */
export class ToolNames {
  readonly #fitted = new Map<string, string>()
  readonly #original = new Map<string, string>()

  constructor(request: NeutralRequest, max: number) {
    for (const name of namesIn(request)) {
      if (name.length <= max && /^[a-zA-Z0-9_-]+$/.test(name)) continue
      const plain = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, max - 17)
      const fitted = `${plain}_${digest(name)}`
      this.#fitted.set(name, fitted)
      this.#original.set(fitted, name)
    }
  }

  get isEmpty(): boolean {
    return this.#fitted.size === 0
  }

  fit(request: NeutralRequest): NeutralRequest {
    if (this.isEmpty) return request
    const rename = (name: string): string => this.#fitted.get(name) ?? name
    const { toolChoice } = request
    return {
      ...request,
      tools: request.tools.map((tool) => ({ ...tool, name: rename(tool.name) })),
      toolChoice:
        toolChoice?.kind === 'tool' ? { ...toolChoice, name: rename(toolChoice.name) } : toolChoice,
      messages: request.messages.map((message) => ({
        ...message,
        parts: message.parts.map((part) => renamePart(part, rename)),
      })),
    }
  }

  restoreParts(parts: readonly Part[]): readonly Part[] {
    if (this.isEmpty) return parts
    return parts.map((part) => renamePart(part, (name) => this.#original.get(name) ?? name))
  }

  restoreEvent(event: StreamEvent): StreamEvent {
    if (this.isEmpty || event.kind !== 'blockStart' || event.part.kind !== 'toolCall') return event
    const name = this.#original.get(event.part.name)
    return name === undefined ? event : { ...event, part: { ...event.part, name } }
  }
}

function namesIn({ tools, messages }: NeutralRequest): ReadonlySet<string> {
  const names = new Set(tools.map(({ name }) => name))
  for (const { parts } of messages) {
    for (const part of parts) if (part.kind === 'toolCall') names.add(part.name)
  }
  return names
}

function renamePart(part: Part, rename: (name: string) => string): Part {
  return part.kind === 'toolCall' ? { ...part, name: rename(part.name) } : part
}
