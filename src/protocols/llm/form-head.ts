import { reject } from './reading.ts'

/* Reads the headers of a form part. */

export interface PartHead {
  readonly name: string
  readonly isFile: boolean
  /** The value of Content-Length and its position in the headers; some parsers rely on it. */
  readonly length: { readonly value: number; readonly at: number } | undefined
}

export interface FormName {
  readonly base: string
  /** Undefined if the name has no brackets; empty for `name[]`. */
  readonly key: string | undefined
}

/** `head` is a list of lines separated by CRLF; `at` counts characters. */
export function readPartHead(head: string): PartHead {
  const seen = new Set<string>()
  let disposition: Disposition | undefined
  let length: PartHead['length']
  let at = 0
  for (const line of head.split('\r\n')) {
    const [, written = '', value = ''] = LINE.exec(line) ?? []
    const name = written.toLowerCase()
    if (name === '' || seen.has(name)) reject('The form has a part with malformed headers.')
    seen.add(name)
    if (name === 'content-disposition') disposition = dispositionOf(value)
    else if (name === 'content-length') {
      if (!/^(?:0|[1-9]\d{0,11})$/.test(value))
        reject('The form has a part with malformed headers.')
      length = { value: Number(value), at: at + line.length - value.length }
    } else if (!isHarmless(name, value)) {
      reject('The form has a part with headers that cannot be checked.')
    }
    at += line.length + 2
  }
  if (disposition === undefined) reject('The form has a part without a name.')
  const type = /^content-type: *(.*)$/im.exec(head)?.[1] ?? 'text/plain'
  // Some parsers treat a part of another type as a file, others as a field.
  if (!disposition.isFile && !TEXT.test(type)) reject('The form has a field that is not text.')
  return { ...disposition, length }
}

/** At most one space after the colon, none at the end; no folding and no line-ending characters. */
const LINE = /^([A-Za-z-]{1,40}): ?([!-~](?:[ -~\u00a0-\u2027\u202a-\uffff]*[!-~])?)$/
const TEXT = /^(?:text\/plain(?:; ?charset=(?:utf-8|us-ascii|"utf-8"))?|application\/json)$/i

const TYPE = /^[\w.+-]+\/[\w.+-]+(?: ?; ?(?:charset|codecs|rate|channels)=[\w.",-]+)*$/i

/** Nested forms hide fields, and encodings hide values. */
function isHarmless(name: string, value: string): boolean {
  if (name === 'content-type') return TYPE.test(value) && !/^(?:multipart|message)\b/i.test(value)
  return name === 'content-transfer-encoding' && /^(?:binary|8bit|7bit)$/i.test(value)
}

interface Disposition {
  readonly name: string
  readonly isFile: boolean
}

/** Parsers disagree on quotes inside a quoted value, and on semicolons. */
const PARAMETER = /^; ?(name|filename|filename\*)=(?:"([^"\\;]*)"|([\w.!#$%&'+^`|~-]+))/i

function dispositionOf(value: string): Disposition {
  if (!/^form-data;/i.test(value)) reject('The form has a part without a name.')
  const found = new Map<string, string>()
  for (let rest = value.slice('form-data'.length); rest !== ''; ) {
    const [all = '', written = '', quoted, plain = ''] = PARAMETER.exec(rest) ?? []
    const name = written.toLowerCase()
    if (all === '' || found.has(name)) reject('The form has a part with a malformed name.')
    if (name === 'filename*' && !/^utf-8''[\w.!~*'()%-]+$/i.test(plain)) {
      reject('The form has a part with a malformed name.')
    }
    found.set(name, quoted ?? plain)
    rest = rest.slice(all.length)
  }
  const name = found.get('name') ?? reject('The form has a part without a name.')
  const filename = found.get('filename')
  // Some parsers treat a part with an empty name, or only the encoded one, as a file, others don't.
  if (filename === '' || (filename === undefined && found.has('filename*'))) {
    reject('The form has a part with a malformed name.')
  }
  return { name, isFile: filename !== undefined }
}

/** Files that OpenAI's endpoints accept; a parameter sent as a file would be unseen by rules. */
const FILES = new Set(['file', 'image', 'images', 'mask', 'input_reference', 'audio', 'video'])

const NAME = /^([A-Za-z_][A-Za-z0-9_-]{0,99})(?:\[([A-Za-z0-9_.-]{0,100})\])?$/

/** Parses `name`, `name[]` or `name[key]`. */
export function readName({ name, isFile }: Pick<PartHead, 'name' | 'isFile'>): FormName {
  const [, base = '', key] = NAME.exec(name) ?? []
  if (base === '') reject('The form has a field whose name cannot be checked.')
  const isModel = base.toLowerCase() === 'model'
  if (isModel && (base !== 'model' || key !== undefined)) {
    reject('The form has a field that some read as `model`.', 'model')
  }
  if (base.toLowerCase() === '_charset_') reject('The form names a charset.')
  if (isFile && !FILES.has(base)) reject(`\`${base}\` must not be a file.`, base)
  return { base, key }
}
