import type { Section } from '../../model/policy.ts'
import { secretText } from '../../model/secret.ts'
import { POLICY_SCHEMAS } from '../../policies/schema.ts'
import { objectBackendRef } from '../resources/routes.ts'
import { readAuthorities, readCertificate } from './certificates.ts'
import {
  type ConvertContext,
  type Converter,
  type Fields,
  isFields,
  NotConvertible,
  refOf,
} from './converter.ts'
import { a2a, apiKey, authentication, basic, jwt, oidc } from './sign-in-values.ts'

/** As in files, under another name. */
const renamed =
  (kind: string): Converter =>
  (value, { field }) => [{ kind, field, value }]

/** The form of the specification; the short form is only for files. */
const authorization =
  (kind: string): Converter =>
  (value, { field }) => {
    if (isFields(value) && value['rules'] !== undefined) {
      const hint = 'use `action` and `policy.matchExpressions`'
      throw new NotConvertible(kind, `${field}.rules`, 'PC0701', 'unknown field `rules`', hint)
    }
    return [{ kind, field, value }]
  }

/** `backendRef` replaces `host`, `service` and `backend`. */
const calling =
  (kind: string, more: (value: Fields) => Fields = (value) => value): Converter =>
  (value, context) => {
    if (!isFields(value)) return [{ kind, field: context.field, value }]
    const { backendRef, ...rest } = value
    const backend = resolved(kind, backendRef, 'backendRef', context)
    return [{ kind, field: context.field, value: more({ ...rest, backend }) }]
  }

function resolved(kind: string, ref: unknown, inner: string, context: ConvertContext): string {
  const parsed = objectBackendRef.safeParse(ref)
  const at = `${context.field}.${inner}`
  if (!parsed.success) throw new NotConvertible(kind, at, 'PC0701', 'not a backend')
  const { backend, verdict } = context.resolve(parsed.data, inner)
  if (verdict.ok) return backend
  const code = verdict.reason === 'RefNotPermitted' ? 'PC0703' : 'PC0702'
  throw new NotConvertible(kind, at, code, verdict.message)
}

/** The same for each entry of `conditional`. */
const callingConditionally =
  (kind: string): Converter =>
  (value, context) => {
    const entries = isFields(value) ? value['conditional'] : undefined
    if (!Array.isArray(entries)) return calling(kind)(value, context)
    const conditional = entries.map((entry: unknown, index) => {
      if (!isFields(entry)) return entry
      const { backendRef, ...rest } = entry
      const at = `conditional[${index}].backendRef`
      return { ...rest, backend: resolved(kind, backendRef, at, context) }
    })
    return [{ kind, field: context.field, value: { ...(value as Fields), conditional } }]
  }

/** The same for each guard that is a service. */
const guardrails: Converter = (value, context) => {
  const kind = 'guardrails'
  const converted = (guards: unknown, at: string): unknown => {
    if (!Array.isArray(guards)) return guards
    return guards.map((guard: unknown, index) => {
      if (!isFields(guard) || !isFields(guard['webhook'])) return guard
      const { backendRef, ...rest } = guard['webhook']
      const inner = `${at}[${index}].webhook.backendRef`
      const target = { backend: resolved(kind, backendRef, inner, context) }
      return { ...guard, webhook: { ...rest, target } }
    })
  }
  const { field } = context
  if (!isFields(value)) return [{ kind, field, value }]
  const own = Object.entries(value).map(([name, guards]) => [name, converted(guards, name)])
  const places = (inner: string) => inner.replace(/\.webhook\.target\b.*/, '.webhook.backendRef')
  return [{ kind, field, value: Object.fromEntries(own), places }]
}

const headerModifiers: Converter = (value, { field }) => {
  if (!isFields(value)) return [{ kind: 'requestHeaders', field, value }]
  const { request, response, ...rest } = value
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) {
    const message = `unknown field \`${unknown}\``
    throw new NotConvertible('requestHeaders', `${field}.${unknown}`, 'PC0701', message)
  }
  return [
    ...(request === undefined
      ? []
      : [{ kind: 'requestHeaders', field: `${field}.request`, value: request }]),
    ...(response === undefined
      ? []
      : [{ kind: 'responseHeaders', field: `${field}.response`, value: response }]),
  ]
}

const rateLimit: Converter = (value, context) => {
  const { field } = context
  const { local, global, conditional, ...rest } = isFields(value) ? value : {}
  const [unknown] = Object.keys(rest)
  const ways = [local, global, conditional].filter((one) => one !== undefined)
  const isBoth = local !== undefined && conditional !== undefined
  if (unknown !== undefined || ways.length === 0 || isBoth) {
    const at = unknown === undefined ? field : `${field}.${unknown}`
    const message =
      '`local` or `conditional`, and `global`, are supported, and one of them is required'
    throw new NotConvertible('localRateLimit', at, 'PC0704', message)
  }
  return [
    ...(local === undefined
      ? []
      : [{ kind: 'localRateLimit', field: `${field}.local`, value: local }]),
    ...(conditional === undefined
      ? []
      : [{ kind: 'localRateLimit', field, value: { conditional } }]),
    ...(global === undefined
      ? []
      : calling('remoteRateLimit')(global, { ...context, field: `${field}.global` })),
  ]
}

const backendAuth: Converter = (value, context) => {
  const { field } = context
  const fail = (at: string, name: string, key: string): never => {
    const message = `entry \`${key}\` of Secret ${context.namespace}/${name} not found`
    throw new NotConvertible('backendAuth', `${field}.${at}`, 'PC0702', message)
  }
  const entry = (name: string, key: string) =>
    context.view.secretEntry(context.namespace, name, key)?.trim()
  const secretAt = (ref: unknown, at: string, usual: string) => {
    const { name, key = usual } = refOf('backendAuth', `${field}.${at}`, ref)
    return entry(name, key) ?? fail(at, name, key)
  }
  if (!isFields(value)) return [{ kind: 'backendAuth', field, value }]
  const { secretRef, aws, oauthTokenExchange: exchange, ...rest } = value
  const kept = (own: Fields) => [{ kind: 'backendAuth', field, value: { ...rest, ...own } }]
  if (secretRef !== undefined && (aws ?? exchange) === undefined) {
    return kept({ key: secretAt(secretRef, 'secretRef', 'Authorization') })
  }
  if (isFields(aws) && (secretRef ?? exchange) === undefined) {
    const { secretRef: ref, ...others } = aws
    const at = 'aws.secretRef'
    const { name } = refOf('backendAuth', `${field}.${at}`, ref)
    const sessionToken = entry(name, 'sessionToken')
    const credentials = {
      accessKeyId: entry(name, 'accessKeyId') ?? fail(at, name, 'accessKeyId'),
      secretAccessKey: entry(name, 'secretAccessKey') ?? fail(at, name, 'secretAccessKey'),
      ...(sessionToken === undefined ? {} : { sessionToken }),
    }
    return kept({ aws: { ...others, ...credentials } })
  }
  if (!isFields(exchange) || (secretRef ?? aws) !== undefined) {
    return [{ kind: 'backendAuth', field, value }]
  }
  const { clientSecretRef: ref, ...others } = exchange
  const at = 'oauthTokenExchange.clientSecretRef'
  const secret = ref === undefined ? {} : { clientSecret: secretAt(ref, at, 'clientSecret') }
  return kept({ oauthTokenExchange: { ...others, ...secret } })
}

const backendTls: Converter = (value, { field, namespace, view }) => {
  if (!isFields(value)) return [{ kind: 'backendTLS', field, value }]
  const { caCertificateRefs, mtlsCertificateRef, ...rest } = value
  const from = { group: 'portcullis.dev', kind: 'ProxyPolicy', namespace }
  const fail = (inner: string, message: string): never => {
    throw new NotConvertible('backendTLS', `${field}.${inner}`, 'PC0702', message)
  }
  const refs: readonly unknown[] = Array.isArray(caCertificateRefs)
    ? caCertificateRefs
    : caCertificateRefs === undefined
      ? []
      : [caCertificateRefs]
  const roots = refs.map((ref, index) => {
    const at = `${field}.caCertificateRefs[${index}]`
    const { kind = 'ConfigMap', name } = refOf('backendTLS', at, ref)
    const reasons = { invalid: '', kind: '' }
    const read = readAuthorities(view, from, { group: '', kind, name }, reasons)
    return read.ok ? read.text : fail(`caCertificateRefs[${index}]`, read.message)
  })
  let material: Fields = {}
  if (mtlsCertificateRef !== undefined) {
    const { name } = refOf('backendTLS', `${field}.mtlsCertificateRef`, mtlsCertificateRef)
    const read = readCertificate(view, from, { group: '', kind: 'Secret', name })
    if (!read.ok) return fail('mtlsCertificateRef', read.message)
    const { cert, key } = read.certificate ?? {}
    if (cert === undefined || key === undefined) return fail('mtlsCertificateRef', 'it is unknown')
    material = { cert: { inline: cert.text }, key: { inline: secretText(key) } }
  }
  const root = roots.length === 0 ? {} : { root: { inline: roots.join('\n') } }
  return [{ kind: 'backendTLS', field, value: { ...rest, ...root, ...material } }]
}

const mcp: Converter = (value, context) => {
  const inner = isFields(value) ? value['authorization'] : undefined
  const at = { ...context, field: `${context.field}.authorization` }
  return authorization('mcpAuthorization')(inner, at)
}

/** The same for the collector of the log, if there is one. */
const accessLog: Converter = (value, context) => {
  const { field } = context
  if (!isFields(value) || !isFields(value['otlp'])) return [{ kind: 'accessLog', field, value }]
  const { backendRef, ...rest } = value['otlp']
  const backend = resolved('accessLog', backendRef, 'otlp.backendRef', context)
  return [{ kind: 'accessLog', field, value: { ...value, otlp: { ...rest, backend } } }]
}

/** A share is a string in Kubernetes, which has no fractions: `0.1`, or an expression. */
const tracing = calling('tracing', (value) => {
  const share = (key: string) => {
    const text = value[key]
    const isShare = typeof text === 'string' && /^(0|1|0?\.[0-9]+|1\.0+|0\.[0-9]+)$/.test(text)
    return isShare ? { [key]: Number(text) } : {}
  }
  return { ...value, ...share('randomSampling'), ...share('clientSampling') }
})

/** Section → key in Kubernetes → converter. Kinds without one have the same form as in files. */
export const CONVERTERS: Readonly<Record<Section, Readonly<Record<string, Converter>>>> = {
  frontend: {
    networkAuthorization: authorization('networkAuthorization'),
    proxyProtocol: renamed('proxyProtocol'),
    tcp: renamed('frontendTcp'),
    tls: renamed('frontendTls'),
    http: renamed('frontendHttp'),
    connect: renamed('connect'),
    accessLog,
    tracing,
  },
  traffic: {
    compression: renamed('compression'),
    timeouts: renamed('timeout'),
    cors: renamed('cors'),
    csrf: renamed('csrf'),
    jwtAuthentication: jwt,
    basicAuthentication: basic,
    apiKeyAuthentication: apiKey,
    authentication,
    oidc,
    extAuth: callingConditionally('extAuthz'),
    extProc: callingConditionally('extProc'),
    authorization: authorization('authorization'),
    rateLimit,
    transformation: renamed('transformations'),
    buffer: renamed('buffer'),
    headerModifiers,
    directResponse: renamed('directResponse'),
    retry: renamed('retry'),
  },
  backend: {
    authorization: authorization('authorization'),
    extAuth: callingConditionally('extAuthz'),
    auth: backendAuth,
    transformation: renamed('transformations'),
    headerModifiers,
    loadBalancer: renamed('loadBalancer'),
    healthCheck: renamed('healthCheck'),
    health: renamed('outlierDetection'),
    connectionLimits: renamed('connectionLimits'),
    tcp: renamed('tcp'),
    tls: backendTls,
    http: renamed('http'),
    guardrails,
    a2a,
    mcp,
  },
}

/** Kinds that filters of routes set, or whose key has another name here. */
const SHAPED: ReadonlySet<string> = new Set([
  'urlRewrite',
  'requestRedirect',
  'requestMirror',
  'requestHeaders',
  'responseHeaders',
  'mcpAuthorization',
  'frontendTcp',
  'frontendTls',
  'frontendHttp',
  'timeout',
  'basicAuth',
  'apiKey',
  'extAuthz',
  'localRateLimit',
  'remoteRateLimit',
  'transformations',
  'backendAuth',
  'outlierDetection',
  'backendTLS',
  'a2a',
])

/** Whether a key is a kind of policy with the same form and name as in files. */
export function isAsInFile(key: string, section: Section): boolean {
  if (SHAPED.has(key)) return false
  return POLICY_SCHEMAS.some(({ kind, sections }) => kind === key && sections[section])
}
