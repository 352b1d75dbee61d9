import * as z from 'zod'
import { compilePattern } from '../cel/library/regex-pattern.ts'
import { type Annotation, annotate, type ResultType } from './annotations.ts'
import { issue } from './shapes.ts'

interface ScalarText<T> {
  /** The name in messages, with its article: `a duration`. */
  readonly what: string
  readonly hint: string
  /** What an editor can check. */
  readonly pattern?: RegExp
  readonly maxLength?: number
  /** Undefined: invalid. */
  readonly parse: (text: string) => T | undefined
}

interface Form extends Pick<ScalarText<unknown>, 'what' | 'hint'> {
  readonly accepts: (text: string) => boolean
}

const FORMS = z.registry<Form>()

/** The name and syntax of a string, if it has a specific form. */
export function formOf(schema: z.core.$ZodType) {
  return FORMS.get(schema as z.ZodType)
}

/** A string with a specific form, parsed to its value. */
export function scalar<T>({ what, hint, pattern, maxLength = 2048, parse }: ScalarText<T>) {
  const title = withoutArticle(what)
  const meta = { title }
  const text = z
    .string()
    .max(maxLength)
    .meta(pattern === undefined ? meta : { ...meta, pattern: pattern.source })
  const read = (text: string) => (pattern?.test(text) === false ? undefined : parse(text))
  FORMS.add(text, { what, hint, accepts: (text) => read(text) !== undefined })
  return text.transform((text, context): T => {
    const value = read(text)
    if (value !== undefined) return value
    context.issues.push(issue(text, `invalid ${title}`, { rule: 'malformed', hint }))
    return z.NEVER
  })
}

function withoutArticle(what: string): string {
  return what.replace(/^(an?|the) /, '')
}

function checked(options: Omit<ScalarText<string>, 'parse'> & { readonly pattern: RegExp }) {
  return scalar<string>({ ...options, parse: (text) => text })
}

/** One of several words, case-insensitive: `Strict` and `strict`; the output is canonical. */
export function choice<const T extends string>(...names: readonly T[]) {
  const byLowerCase = new Map(names.map((name) => [name.toLowerCase(), name]))
  const spellings = names.flatMap((name) => [...new Set([name, lowerFirst(name)])])
  return z
    .string()
    .meta({ enum: [...new Set(spellings)] })
    .transform((text, context): T => {
      const name = byLowerCase.get(text.toLowerCase())
      if (name !== undefined) return name
      context.issues.push({ code: 'invalid_value', values: [...names], input: text })
      return z.NEVER
    })
}

function lowerFirst(name: string): string {
  return /^[A-Z]+$/.test(name) ? name.toLowerCase() : name.charAt(0).toLowerCase() + name.slice(1)
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** In milliseconds. */
export const duration = () =>
  scalar<number>({
    what: 'a duration',
    hint: 'use a number and a unit, such as 500ms, 10s or 1m30s',
    pattern: /^([0-9]{1,9}(\.[0-9]{1,3})?(h|ms|m|s)){1,4}$/,
    parse: (text) => {
      let sum = 0
      for (const [, number, unit] of text.matchAll(/([0-9.]+)(h|ms|m|s)/g)) {
        sum += Number(number) * (UNITS[unit as string] as number)
      }
      return Number.isSafeInteger(Math.round(sum)) ? Math.round(sum) : undefined
    },
  })

const MULTIPLES: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
}

/** In bytes: a number, or a number with a unit. */
export const byteSize = () =>
  z.union([
    z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    scalar<number>({
      what: 'a size',
      hint: 'use a number of bytes, or a number and a unit, such as 64Ki, 2Mi or 1G',
      pattern: /^([0-9]{1,15}|[0-9]{1,12}(k|K|Ki)|[0-9]{1,9}(M|Mi)|[0-9]{1,6}(G|Gi))$/,
      parse: (text) => {
        const [, number = '', unit = ''] = /^([0-9]+)(.*)$/.exec(text) ?? []
        const bytes = Number(number) * (MULTIPLES[unit] as number)
        return Number.isSafeInteger(bytes) ? bytes : undefined
      },
    }),
  ])

export const port = () => z.int().min(1).max(65_535)

const LABEL = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
const HOSTNAME = new RegExp(`^(\\*\\.)?(${LABEL}\\.)*${LABEL}\\.?$`, 'i')

/** A hostname, optionally with the prefix `*.`; in lower case. */
export const hostname = () =>
  scalar<string>({
    what: 'a hostname',
    hint: 'use a name such as api.example.com, or *.example.com for all subdomains',
    maxLength: 254,
    parse: (text) =>
      text === '*' || HOSTNAME.test(text) ? text.toLowerCase().replace(/\.$/, '') : undefined,
  })

/** The name of an object in this configuration. */
export const name = () =>
  checked({
    what: 'a name',
    hint: 'use letters, digits and . _ - /, starting with a letter or digit',
    pattern: /^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$/,
    maxLength: 253,
  })

const HEADER_NAME = "use letters, digits and !#$%&'*+-.^_`|~ (RFC 9110)"

export const headerName = (hint = HEADER_NAME) =>
  checked({
    what: 'a header name',
    hint,
    pattern: /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/,
    maxLength: 256,
  })

export const headerValue = () =>
  scalar<string>({
    what: 'a header value',
    hint: 'line breaks and control characters are not allowed (RFC 9110)',
    maxLength: 8192,
    parse: (text) => {
      const isClean = [...text].every((c) => c === '\t' || (c >= ' ' && c !== '\x7f'))
      return isClean && text.trim() === text ? text : undefined
    },
  })

export const url = () =>
  scalar<string>({
    what: 'a URL',
    hint: 'use http:// or https://, a host and an optional path',
    pattern: /^https?:\/\/[^\s?#@]+(?:\?[^\s#]*)?$/,
    parse: (text) => (URL.canParse(text) ? text : undefined),
  })

/** HTTPS, or HTTP for the local machine only: codes and tokens are sent there. */
export const confidentialUrl = (what: string) =>
  z
    .string()
    .max(2_048)
    .meta({ title: 'URL' })
    .check(({ value, issues }) => {
      const url = URL.parse(value)
      const isLocal = /^(localhost|\[::1\]|127(\.\d+){3})$/.test(url?.hostname ?? '')
      const isPlain = url?.username === '' && url.password === ''
      if (isPlain && (url.protocol === 'https:' || (url.protocol === 'http:' && isLocal))) return
      const hint = 'use https://…; http:// is only allowed for the local machine'
      issues.push(issue(value, `invalid ${withoutArticle(what)}`, { rule: 'malformed', hint }))
    })

/** A CEL expression, compiled for the stage at which it runs. */
export const expression = (result: ResultType, stage?: Stage) => {
  const annotation: Annotation =
    stage === undefined ? { is: 'expression', result } : { is: 'expression', result, stage }
  return annotate(z.string().min(1).max(16_384).meta({ title: TITLES[result] }), annotation)
}

type Stage = NonNullable<Extract<Annotation, { is: 'expression' }>['stage']>

const TITLES: Readonly<Record<ResultType, string>> = {
  bool: 'CEL expression that returns a bool',
  rule: 'CEL expression that returns a bool',
  string: 'CEL expression that returns a string',
  any: 'CEL expression',
}

export const tlsVersion = () =>
  z.union([
    z.literal([1.2, 1.3]).transform((version) => (version === 1.2 ? '1.2' : '1.3')),
    scalar<'1.2' | '1.3'>({
      what: 'a TLS version',
      hint: '1.2 and 1.3 are supported',
      pattern: /^([Tt][Ll][Ss])?([vV]|_V)?1[._][23]$/,
      parse: (text) => (text.endsWith('2') ? '1.2' : '1.3'),
    }),
  ])

/** RE2 syntax, as in expressions: always runs in time linear in the length of the input. */
export const regex = () =>
  scalar<string>({
    what: 'a regular expression',
    hint: 'use RE2 syntax: look-around and back-references are not supported',
    maxLength: 4096,
    parse: (text) => (compilePattern(text) === undefined ? undefined : text),
  })

/** Any JSON value. */
export const anything = z.json().meta({ id: 'anything' })
