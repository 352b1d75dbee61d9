import type { Message, NeutralRequest, Part, TextPart, ToolCallPart } from './neutral.ts'
import type { Dropped } from './parts.ts'
import { reject } from './reading.ts'

export interface TurnOptions {
  /** Reasoning of any other maker is removed. */
  readonly maker: string
  /** System prompts are allowed between messages. */
  readonly hasSystemRole: boolean
}

export interface Turns {
  readonly system: readonly TextPart[]
  readonly messages: readonly Message[]
}

/**
 * Arranges a conversation as strict providers require it: no part is empty, the user begins, roles
 * alternate, and results follow their calls.
 */
export function arrangeTurns(
  request: NeutralRequest,
  { maker, hasSystemRole }: TurnOptions,
  dropped: Dropped,
): Turns {
  const system = request.system.filter(hasText)
  const turns: Message[] = []
  for (const { role, parts } of request.messages) {
    const kept = parts.filter((part) => isKept(part, maker, dropped))
    if (kept.some(hasDetail)) dropped.add('image detail')
    if (kept.length === 0) continue
    if (role !== 'system' || hasSystemRole) turns.push({ role, parts: kept })
    else {
      dropped.add('position of system messages')
      system.push(...kept.filter((part) => part.kind === 'text'))
    }
  }
  const messages = trimPrefill(mergeTurns(turns))
  const isOpened = messages.find(({ role }) => role !== 'system')?.role === 'user'
  return isOpened ? { system, messages } : withUser(system, messages, dropped)
}

/** At least one user message is required, and it comes first. */
function withUser(system: TextPart[], messages: readonly Message[], dropped: Dropped): Turns {
  const last = messages.length === 0 ? system.pop() : undefined
  // OpenAI accepts instructions alone.
  if (last !== undefined) return { system, messages: [{ role: 'user', parts: [last] }] }
  if (messages.length === 0) reject('`messages` has no content.', 'messages')
  dropped.add('no message of the user at the start')
  const opening: Message = { role: 'user', parts: [{ kind: 'text', text: '.' }] }
  return { system, messages: [opening, ...messages] }
}

function hasText({ text }: { readonly text: string }): boolean {
  return text.trim() !== ''
}

/** OpenAI only: the resolution at which to read an image. */
function hasDetail(part: Part): boolean {
  if (part.kind === 'toolResult') return part.parts.some(hasDetail)
  return part.kind === 'image' && (part.detail ?? 'auto') !== 'auto'
}

/** Text with only white space is rejected, and so is reasoning that another provider signed. */
function isKept(part: Part, maker: string, dropped: Dropped): boolean {
  if (part.kind === 'text' || part.kind === 'refusal') return hasText(part)
  if (part.kind !== 'reasoning') return true
  const isOwn = part.signature?.maker === maker && part.signature.value !== ''
  // The whole block or nothing: text without its signature is rejected.
  if (!isOwn) dropped.add('reasoning of earlier turns')
  return isOwn
}

/** If the last message is the assistant's, its text must not end with white space. */
function trimPrefill(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1)
  const part = last?.parts.at(-1)
  if (last?.role !== 'assistant' || part?.kind !== 'text') return messages
  const trimmed = { ...part, text: part.text.trimEnd() }
  return [...messages.slice(0, -1), { ...last, parts: [...last.parts.slice(0, -1), trimmed] }]
}

/**
 * Makes roles alternate for dialects that require it: adjacent messages of one role become one, and
 * tool results come first in it, in the order of their calls.
 */
function mergeTurns(messages: readonly Message[]): readonly Message[] {
  const merged: { role: Message['role']; parts: Part[] }[] = []
  for (const { role, parts } of messages) {
    const last = merged.at(-1)
    if (last !== undefined && last.role === role) last.parts.push(...parts)
    else merged.push({ role, parts: [...parts] })
  }
  return merged.map((message, at) => {
    if (message.role !== 'user') return message
    const calls = (merged[at - 1]?.parts ?? []).filter((part) => part.kind === 'toolCall')
    return { role: 'user', parts: resultsFirst(message.parts, calls) }
  })
}

function resultsFirst(parts: readonly Part[], calls: readonly ToolCallPart[]): readonly Part[] {
  const results = parts.filter((part) => part.kind === 'toolResult')
  if (results.length === 0) return parts
  const place = new Map(calls.map(({ id }, at) => [id, at]))
  const rank = (id: string): number => place.get(id) ?? calls.length
  const ordered = results.toSorted((a, b) => rank(a.id) - rank(b.id))
  return [...ordered, ...parts.filter((part) => part.kind !== 'toolResult')]
}
