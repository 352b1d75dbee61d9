import type { Value } from '../../cel/index.ts'
import { toJson } from '../../cel/values/json-write.ts'
import type { JsonObject } from '../../cel/values/value.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { isGrpcResponse } from '../../exchange/grpc.ts'
import { HeaderEdit, NO_EDIT } from '../../exchange/header-edit.ts'
import type { ResponseDraft } from '../../exchange/response-draft.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type CompileContext, variablesOf } from '../define.ts'
import { isFieldValue, textOf } from '../value-text.ts'
import type { Changes, Field } from './schema.ts'

/** The compiled changes to a request or a response. */
export interface Message {
  changeRequest(exchange: Exchange): void
  changeResponse(exchange: Exchange, draft: ResponseDraft): void
  /** Changes the headers only. */
  changeHead(exchange: Exchange, head: ResponseDraft): void
  /** Undefined if the body is unchanged. */
  readonly bodyOf: ((exchange: Exchange) => Uint8Array | undefined) | undefined
  /** An expression reads the body of the response. */
  readonly readsBody: boolean
}

type Evaluate = (exchange: Exchange) => Value | undefined

interface Named {
  readonly name: string
  readonly evaluate: Evaluate
}

/** Headers that describe the original bytes. */
const ABOUT_THE_BYTES = [
  'content-encoding',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
]
const ABOUT_THE_RESPONSE = [...ABOUT_THE_BYTES, 'etag', 'accept-ranges', 'content-range']

export function compileChanges(
  { set, add, remove, body, metadata }: Changes,
  policy: ValidPolicy,
  field: string,
  part: 'request' | 'response',
  context: CompileContext,
): Message {
  const stage = part === 'request' ? 'transform' : 'response'
  let readsBody = false
  const compile = (text: string, own: string): Evaluate => {
    const place = { policy, field: `${field}.${own}`, result: 'any', stage } as const
    const expression = context.compile(text, place)
    readsBody ||= expression?.reads.some(isResponseBody) ?? false
    const evaluate = expression?.evaluate()
    return (exchange) => evaluate?.(variablesOf(exchange))
  }
  const named = (fields: readonly Field[], own: string): readonly Named[] =>
    fields.map(({ name, value }) => ({ name, evaluate: compile(value, `${own}.${name}`) }))

  const metadataOf = named(metadata, 'metadata')
  const added = named(add, 'add')
  const replacing = named(set, 'set')
  const newBody = body === undefined ? undefined : compile(body, 'body')

  const keep = (exchange: Exchange) => {
    for (const { name, evaluate } of metadataOf) {
      const value = evaluate(exchange)
      if (value === undefined) continue
      exchange.metadata = { ...exchange.metadata, [name]: toJson(value) } as JsonObject
    }
  }
  const isPseudo = ({ name }: Named) => name.startsWith(':')
  const pseudo = replacing.filter(isPseudo)
  const headers = replacing.filter((one) => !isPseudo(one))
  const removed = new HeaderEdit(remove, [])

  /** All expressions see the message before any of the changes. */
  const editOf = (exchange: Exchange, about: readonly string[]): HeaderEdit => {
    const forgotten = new HeaderEdit(newBody === undefined ? [] : about, [])
    const more = added.map((one) => further(one, exchange))
    const anew = headers.map((one) => replaced(one, exchange))
    return [forgotten, ...more, ...anew, removed].reduce((sum, edit) => sum.with(edit), NO_EDIT)
  }

  return {
    changeRequest(exchange) {
      keep(exchange)
      const edit = editOf(exchange, ABOUT_THE_BYTES)
      for (const one of pseudo) changeLine(exchange, one)
      exchange.requestEdit = exchange.requestEdit.with(edit)
    },
    changeResponse(exchange, draft) {
      keep(exchange)
      const isHead = exchange.request.method === 'HEAD' && draft.status !== 304
      const isChanged = (draft.hasBody || isHead) && !isGrpcResponse(exchange, draft)
      const edit = editOf(exchange, isChanged ? ABOUT_THE_RESPONSE : [])
      const status = pseudo.map(({ evaluate }) => Number(evaluate(exchange) ?? Number.NaN))
      draft.change(edit)
      // The new body is complete, not a range.
      if (isChanged && newBody !== undefined && draft.status === 206) draft.status = 200
      for (const code of status) {
        if (Number.isInteger(code) && code >= 200 && code <= 599) draft.status = code
      }
    },
    changeHead: (exchange, head) => head.change(editOf(exchange, [])),
    bodyOf: newBody && ((exchange) => bytesOf(newBody(exchange))),
    readsBody,
  }
}

function isResponseBody({ variable, fields }: { variable: string; fields: readonly string[] }) {
  return variable === 'response' && (fields[0] === undefined || fields[0] === 'body')
}

/** Also undefined for an empty optional. */
function textUnlessNull(value: Value | undefined): string | undefined {
  const text = textOf(value)
  return text === 'null' && typeof value === 'object' && !(value instanceof Uint8Array)
    ? undefined
    : text
}

function replaced(field: Named, exchange: Exchange): HeaderEdit {
  return written(field, exchange, [field.name])
}

function further(field: Named, exchange: Exchange): HeaderEdit {
  return written(field, exchange, [])
}

/** If there is no value to write, removes the client's own header: it must not be trusted. */
function written(
  { name, evaluate }: Named,
  exchange: Exchange,
  removed: readonly string[],
): HeaderEdit {
  const text = textUnlessNull(evaluate(exchange))
  if (text === undefined) return new HeaderEdit([name], [])
  if (!isFieldValue(text)) return new HeaderEdit([name], []).lose([name])
  return new HeaderEdit(removed, [[name, text]])
}

/** Leaves a value unchanged if the new one is invalid. */
function changeLine(exchange: Exchange, { name, evaluate }: Named): void {
  const text = textUnlessNull(evaluate(exchange))
  if (text === undefined) return
  if (name === ':authority') {
    if (/^([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?$/.test(text)) exchange.host = text
    return
  }
  const written = text.isWellFormed() ? text.replace(/[\u0080-\uffff]+/g, encodeURIComponent) : ''
  const [, path, search = ''] =
    /^(\/[\x21\x22\x24-\x3e\x40-\x7e]*)(\?[\x21\x22\x24-\x7e]*)?$/.exec(written) ?? []
  if (path === undefined) return
  exchange.path = path
  exchange.search = search
}

const EMPTY = new Uint8Array()

/** An error results in an empty body, rather than in the original. */
function bytesOf(value: Value | undefined): Uint8Array {
  if (value instanceof Uint8Array) return value
  const text = textUnlessNull(value)
  return text === undefined ? EMPTY : new TextEncoder().encode(text)
}
