import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Attached, Level, Section } from '../../model/policy.ts'
import type { Filter, Mirror, PathModifier, Redirect } from '../resources/routes.ts'
import { type Rejection, reject, type Verdict } from './conditions.ts'
import { readOne } from './policy-section.ts'
import type { Read } from './view.ts'

export interface FilterContext {
  readonly read: Read
  readonly section: Section
  readonly level: Level
  /** The name of the policies that filters are converted to. */
  readonly policy: string
  /** Filter types that this kind of route supports here. */
  readonly types: readonly string[]
  /** The name of a backend in the Model. */
  readonly mirror: (
    mirror: Mirror,
    field: string,
  ) => { readonly backend: string; readonly verdict: Verdict }
}

export interface ReadFilters {
  readonly policies: readonly Attached[]
  readonly verdicts: readonly Verdict[]
  /** Why the rule cannot be served as it is written. */
  readonly problems: readonly Rejection[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Converts the filters of a rule, or of one of its backends, to policies of the Model. */
export function readFilters(
  context: FilterContext,
  filters: readonly Filter[],
  field: string,
): ReadFilters {
  const policies: Attached[] = []
  const verdicts: Verdict[] = []
  const diagnostics: Diagnostic[] = []
  const problems = [...incompatible(filters)]
  const mirrors: unknown[] = []
  const add = (kind: string, value: unknown, at: string) => {
    const one = readOne(context, { kind, field: at, value }, context)
    diagnostics.push(...one.diagnostics)
    if (one.policy.state === 'invalid') {
      problems.push(reject('UnsupportedValue', one.diagnostics[0]?.message ?? 'it is invalid'))
    }
    policies.push(one.policy)
  }
  for (const [index, filter] of filters.entries()) {
    const at = `${field}[${index}]`
    if (!context.types.includes(filter.type)) {
      problems.push(reject('UnsupportedValue', `filter ${filter.type} is not supported here`))
      continue
    }
    switch (filter.type) {
      case 'RequestHeaderModifier':
        add('requestHeaders', filter.requestHeaderModifier ?? {}, `${at}.requestHeaderModifier`)
        break
      case 'ResponseHeaderModifier':
        add('responseHeaders', filter.responseHeaderModifier ?? {}, `${at}.responseHeaderModifier`)
        break
      case 'RequestRedirect':
        add('requestRedirect', redirectOf(filter.requestRedirect), `${at}.requestRedirect`)
        break
      case 'URLRewrite': {
        const { hostname, path } = filter.urlRewrite ?? {}
        const authority = hostname === undefined ? {} : { authority: { full: hostname } }
        add('urlRewrite', { ...authority, ...pathOf(path) }, `${at}.urlRewrite`)
        break
      }
      case 'CORS': {
        const { maxAge, ...rest } = filter.cors ?? {}
        const age = maxAge === undefined ? {} : { maxAge: `${maxAge}s` }
        add('cors', { ...rest, ...age }, `${at}.cors`)
        break
      }
      case 'RequestMirror': {
        if (filter.requestMirror === undefined) break
        const { backend, verdict } = context.mirror(
          filter.requestMirror,
          `${at}.requestMirror.backendRef`,
        )
        verdicts.push(verdict)
        mirrors.push({ backend: { backend }, percentage: shareOf(filter.requestMirror) })
      }
    }
  }
  if (mirrors.length > 0) {
    policies.push({
      state: 'valid',
      kind: 'requestMirror',
      section: context.section,
      level: context.level,
      policy: context.policy,
      origin: { kind: 'object', object: `${context.read.kind} ${context.read.key}`, field },
      value: mirrors.map((mirror) => {
        const { backend, percentage } = mirror as {
          backend: { backend: string }
          percentage: number
        }
        return { backend: { kind: 'backend', backend: backend.backend }, percentage }
      }),
    })
  }
  return { policies, verdicts, problems, diagnostics }
}

/** HTTPRouteFilter: a request is either redirected or rewritten, and each only once. */
function* incompatible(filters: readonly Filter[]): Generator<Rejection> {
  const types = filters.map(({ type }) => type)
  if (types.includes('RequestRedirect') && types.includes('URLRewrite')) {
    const message = 'RequestRedirect and URLRewrite are mutually exclusive'
    yield reject('IncompatibleFilters', message)
  }
  const isSecond = (type: string, index: number) =>
    type !== 'RequestMirror' && types.indexOf(type) !== index
  for (const twice of new Set(types.filter(isSecond))) {
    yield reject('IncompatibleFilters', `duplicate filter ${twice}`)
  }
}

function redirectOf({ scheme, hostname, port, path, statusCode }: Redirect = { statusCode: 302 }) {
  const authority =
    hostname === undefined
      ? port === undefined
        ? {}
        : { authority: { port } }
      : { authority: port === undefined ? { host: hostname } : { full: `${hostname}:${port}` } }
  return {
    ...(scheme === undefined ? {} : { scheme: scheme.toLowerCase() }),
    ...authority,
    ...pathOf(path),
    status: statusCode,
  }
}

function pathOf(path: PathModifier | undefined): object {
  if (path === undefined) return {}
  // The schema of files requires a path; the Gateway API allows replacing a prefix with nothing.
  const slashed = (text = '') => (text.startsWith('/') ? text : `/${text}`)
  return path.type === 'ReplaceFullPath'
    ? { path: { full: slashed(path.replaceFullPath) } }
    : { path: { prefix: slashed(path.replacePrefixMatch) } }
}

function shareOf({ percent, fraction }: Mirror): number {
  if (fraction !== undefined) return Math.min(1, fraction.numerator / fraction.denominator)
  return percent === undefined ? 1 : percent / 100
}
