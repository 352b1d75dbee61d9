import type { DialectName } from './dialect.ts'
import { list } from './reading.ts'

/* Adds configured messages to a call, in the client's dialect. */

export interface AddedPrompt {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface AddedPrompts {
  readonly prepend?: readonly AddedPrompt[] | undefined
  readonly append?: readonly AddedPrompt[] | undefined
}

type Body = Readonly<Record<string, unknown>>

/** Returns the request members that change; undefined if this dialect has no messages. */
export function addPrompts(
  dialect: DialectName,
  body: Body,
  { prepend = [], append = [] }: AddedPrompts,
): Body | undefined {
  if (prepend.length + append.length === 0) return {}
  switch (dialect) {
    case 'completions':
      return { messages: [...prepend, ...list(body['messages']), ...append] }
    case 'responses':
      return { input: [...prepend, ...inputItems(body['input']), ...append] }
    case 'messages':
      return withSystem(body, prepend, append, 'system', anthropicSystem)
    case 'converse':
      return withSystem(body, prepend, append, 'system', converseSystem)
    case 'gemini':
      return geminiPrompts(body, prepend, append)
    case 'embeddings':
    case 'rerank':
    case 'other':
      return undefined
  }
}

function inputItems(input: unknown): readonly unknown[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : list(input)
}

type Write = (texts: readonly string[], given: unknown, atEnd: readonly string[]) => unknown

/** For dialects with a separate member for system prompts. */
function withSystem(
  body: Body,
  prepend: readonly AddedPrompt[],
  append: readonly AddedPrompt[],
  member: string,
  write: Write,
): Body {
  const messages = body['messages']
  const content = ({ role, content: text }: AddedPrompt) =>
    write === converseSystem ? { role, content: [{ text }] } : { role, content: text }
  const before = prepend.filter(isTurn).map(content)
  const after = append.filter(isTurn).map(content)
  const [first, last] = [systemTexts(prepend), systemTexts(append)]
  return {
    ...(first.length + last.length > 0 ? { [member]: write(first, body[member], last) } : {}),
    ...(before.length + after.length > 0
      ? { messages: [...before, ...list(messages), ...after] }
      : {}),
  }
}

function isTurn({ role }: AddedPrompt): boolean {
  return role !== 'system'
}

function systemTexts(prompts: readonly AddedPrompt[]): readonly string[] {
  return prompts.filter((one) => !isTurn(one)).map(({ content }) => content)
}

function anthropicSystem(first: readonly string[], given: unknown, last: readonly string[]) {
  const block = (text: string) => ({ type: 'text', text })
  const own = typeof given === 'string' ? (given === '' ? [] : [block(given)]) : list(given)
  return [...first.map(block), ...own, ...last.map(block)]
}

function converseSystem(first: readonly string[], given: unknown, last: readonly string[]) {
  const block = (text: string) => ({ text })
  return [...first.map(block), ...list(given), ...last.map(block)]
}

function geminiPrompts(
  body: Body,
  prepend: readonly AddedPrompt[],
  append: readonly AddedPrompt[],
): Body {
  const [first, last] = [systemTexts(prepend), systemTexts(append)]
  const part = (text: string) => ({ text })
  const content = ({ role, content: text }: AddedPrompt) => ({
    role: role === 'assistant' ? 'model' : 'user',
    parts: [part(text)],
  })
  const member = body['system_instruction'] === undefined ? 'systemInstruction' : SNAKE
  const given = body[member]
  const parts = typeof given === 'object' && given !== null ? (given as Body)['parts'] : undefined
  const own = typeof given === 'string' ? [part(given)] : Array.isArray(parts) ? parts : []
  const base = typeof given === 'object' && given !== null ? given : {}
  const turns = [...prepend, ...append].some(isTurn)
  const contents = body['contents']
  const said = Array.isArray(contents) ? contents : contents === undefined ? [] : [contents]
  return {
    ...(first.length + last.length === 0
      ? {}
      : { [member]: { ...base, parts: [...first.map(part), ...own, ...last.map(part)] } }),
    ...(turns
      ? {
          contents: [
            ...prepend.filter(isTurn).map(content),
            ...said,
            ...append.filter(isTurn).map(content),
          ],
        }
      : {}),
  }
}

const SNAKE = 'system_instruction'
