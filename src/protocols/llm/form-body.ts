import type { Read } from './dialect.ts'
import { type FormName, type PartHead, readName, readPartHead } from './form-head.ts'
import { joinBytes } from './json.ts'
import { reading, reject } from './reading.ts'

/*
 * Forms (multipart/form-data, RFC 7578) with a model in them. Form parsers differ in what they
 * tolerate, so one of them could read a different model than the rules did: anything except the
 * plain form that clients write is rejected.
 */

/** The content of a form for rules: its fields, without files. */
export interface FormBody {
  readonly fields: Readonly<Record<string, unknown>>
  /** Returns the same bytes with another model; undefined if this form cannot contain it. */
  withModel(model: string): Uint8Array | undefined
}

export function isForm(contentType: string | undefined): boolean {
  return /^\s*multipart\b/i.test(contentType ?? '')
}

const MAX_PARTS = 1_000
const MAX_HEAD = 8_192
/** The max bytes of a field that is not a file; a prompt has at most 32,000 characters. */
const MAX_FIELD = 262_144

const CR_LF = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')

interface Span {
  readonly start: number
  readonly end: number
}

interface ModelPlace {
  readonly value: Span
  /** The position of its length, if a part header states it. */
  readonly length: Span | undefined
}

/** `contentType` is that of the request. */
export function readForm(bytes: Uint8Array, contentType: string): Read<FormBody> {
  return reading(() => {
    const boundary = boundaryOf(contentType)
    const form = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const fields = new FormFields()
    let model: ModelPlace | undefined
    for (const { head, start, end } of partsOf(form, boundary)) {
      const part = readPartHead(textOf(form.subarray(head.start, head.end)))
      if (part.length !== undefined && part.length.value !== end - start) {
        reject('The form has a part whose Content-Length is wrong.')
      }
      const name = readName(part)
      if (part.isFile) {
        fields.addFile(name)
        continue
      }
      if (end - start > MAX_FIELD) reject('The form has a field that is too long.', name.base)
      fields.add(name, textOf(form.subarray(start, end), name.base))
      if (name.base === 'model') model = { value: { start, end }, length: lengthPlace(head, part) }
    }
    return { fields: fields.all, withModel: (name) => withModel(form, boundary, model, name) }
  })
}

/** The name of a model is in ASCII, and so are the headers before its length. */
function lengthPlace(head: Span, { length }: PartHead): Span | undefined {
  if (length === undefined) return undefined
  const start = head.start + length.at
  return { start, end: start + String(length.value).length }
}

/** The boundary must be unique and contain no spaces; `charset` may only be UTF-8. */
function boundaryOf(contentType: string): string {
  const [, plain, quoted] = CONTENT_TYPE.exec(contentType.trim()) ?? []
  return (
    plain ?? quoted ?? reject('The Content-Type of the form is not plain enough to be checked.')
  )
}

const CHARSET = '(?:[ \\t]*;[ \\t]*charset=(?:utf-8|"utf-8"))?'
const CONTENT_TYPE = new RegExp(
  `^multipart/form-data${CHARSET}[ \\t]*;[ \\t]*boundary=(?:([\\w'+.-]{1,70})|"([\\w'()+,./:=?-]{1,70})")${CHARSET}$`,
  'i',
)

interface FoundPart extends Span {
  readonly head: Span
}

function* partsOf(form: Buffer, boundary: string): Generator<FoundPart> {
  const dashed = Buffer.from(`--${boundary}`, 'latin1')
  if (form.indexOf(dashed) !== 0) reject('The form does not begin with its boundary.')
  let at = dashed.length
  for (let count = 1; !startsWith(form, '--', at); count++) {
    if (!startsWith(form, '\r\n', at)) reject('The form has a malformed boundary.')
    if (count > MAX_PARTS) reject('The form has too many parts.')
    const next = form.indexOf(dashed, at)
    if (next === -1) reject('The form does not end with its boundary.')
    // Some parsers also accept a boundary after other line endings.
    if (!startsWith(form, '\r\n', next - CR_LF.length)) reject('The form has a malformed boundary.')
    const start = at + CR_LF.length
    const headEnd = form.indexOf(HEAD_END, start)
    if (headEnd === -1 || headEnd + HEAD_END.length > next - CR_LF.length) {
      reject('The form has a part without headers.')
    }
    if (headEnd - start > MAX_HEAD) reject('The form has a part with long headers.')
    yield {
      head: { start, end: headEnd },
      start: headEnd + HEAD_END.length,
      end: next - CR_LF.length,
    }
    at = next + dashed.length
  }
  const rest = form.length - at - 2
  if (rest !== 0 && !(rest === 2 && startsWith(form, '\r\n', at + 2))) {
    reject('The form goes on after its last boundary.')
  }
}

function startsWith(form: Buffer, text: string, at: number): boolean {
  return at >= 0 && form.toString('latin1', at, at + text.length) === text
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textOf(bytes: Uint8Array, name?: string): string {
  let text: string
  try {
    text = UTF8.decode(bytes)
  } catch {
    reject('The form has a field that is not valid UTF-8.', name)
  }
  if (text.includes('\0')) reject('The form has a field with a NUL character.', name)
  return text
}

/** The fields as a JSON body would have them, so that the same rules read both. */
class FormFields {
  readonly #all = new Map<string, unknown>()
  readonly #kinds = new Map<string, string>()

  get all(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#all)
  }

  add(name: FormName, text: string): void {
    const { base, key } = name
    this.#claim(name, 'field')
    if (key === undefined) {
      if (this.#all.has(base)) reject('The form has a duplicate field.', base)
      this.#all.set(base, typed(base, text))
      return
    }
    const known = this.#all.get(base)
    if (key === '') {
      this.#all.set(base, [...((known as readonly string[] | undefined) ?? []), text])
      return
    }
    const members = (known ?? {}) as Readonly<Record<string, string>>
    if (Object.hasOwn(members, key)) reject('The form has a duplicate field.', base)
    this.#all.set(base, { ...members, [key]: text })
  }

  /** Several files may share a name; fields may not. */
  addFile(name: FormName): void {
    this.#claim(name, 'file')
  }

  /** A name is used in one way only: the provider may treat `n`, `n[]` and `n[key]` as the same. */
  #claim({ base, key }: FormName, what: 'field' | 'file'): void {
    const kind = what === 'file' ? what : key === undefined ? 'one' : key === '' ? 'list' : 'map'
    const known = this.#kinds.get(base)
    if (known !== undefined && known !== kind) reject('The form has a duplicate field.', base)
    this.#kinds.set(base, kind)
  }
}

const NUMBERS = new Set(['n', 'temperature', 'output_compression', 'partial_images'])
const JSON_NUMBER = /^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,9})?$/

function typed(name: string, text: string): unknown {
  if (name === 'model' && !isModelName(text)) reject('`model` is not a model name.', 'model')
  if (name === 'stream') {
    if (text !== 'true' && text !== 'false') reject('`stream` must be true or false.', 'stream')
    return text === 'true'
  }
  if (!NUMBERS.has(name)) return text
  return JSON_NUMBER.test(text) ? Number(text) : reject(`\`${name}\` must be a number.`, name)
}

/** True if there is nothing that some parsers trim, decode or cut. */
function isModelName(text: string): boolean {
  return /^[!-~]{1,256}$/.test(text)
}

function withModel(
  form: Buffer,
  boundary: string,
  place: ModelPlace | undefined,
  model: string,
): Uint8Array | undefined {
  if (!isModelName(model) || model.includes(`--${boundary}`)) return undefined
  const name = Buffer.from(model, 'latin1')
  if (place === undefined) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n`
    return joinBytes([Buffer.from(head, 'latin1'), name, CR_LF, form])
  }
  const { value, length } = place
  const end = [name, form.subarray(value.end)]
  if (length === undefined) return joinBytes([form.subarray(0, value.start), ...end])
  const size = Buffer.from(String(name.length), 'latin1')
  return joinBytes([
    form.subarray(0, length.start),
    size,
    form.subarray(length.end, value.start),
    ...end,
  ])
}
