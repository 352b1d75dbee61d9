import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { Section } from '../../model/policy.ts'
import { secretText } from '../../model/secret.ts'
import { POLICY_SCHEMAS } from '../../policies/schema.ts'
import {
  configMap as configMapSchema,
  secret as secretSchema,
} from '../resources/cluster-objects.ts'
import { labelSelector, selects } from '../resources/metadata.ts'
import { type ObjectBackendRef, objectBackendRef } from '../resources/routes.ts'
import { readAuthorities, readCertificate } from './certificates.ts'
import type { ResolvedRef } from './resolved-ref.ts'
import type { ClusterView } from './view.ts'

/** What a key of a Kubernetes object says, in the words of a file. */
export interface Converted {
  readonly kind: string
  /** Where it is written: `spec.traffic.rateLimit.local` */
  readonly field: string
  readonly value: unknown
  /** The field in the object of a field in `value`, where they differ. */
  readonly places?: (field: string) => string
}

export interface ConvertContext {
  readonly field: string
  readonly namespace: string
  readonly view: ClusterView
  readonly resolve: (ref: ObjectBackendRef, inner: string) => ResolvedRef
}

type Converter = (value: unknown, context: ConvertContext) => readonly Converted[]

/** A mistake that only the object has, such as a Secret that is not there. */
export class NotConvertible extends Error {
  readonly kind: string
  readonly field: string
  readonly code: string
  readonly hint: string | undefined

  constructor(kind: string, field: string, code: string, message: string, hint?: string) {
    super(message)
    this.kind = kind
    this.field = field
    this.code = code
    this.hint = hint
  }
}

type Fields = Readonly<Record<string, unknown>>

const objectRef = z.strictObject({
  name: z.string().min(1),
  key: z.string().optional(),
  kind: z.string().optional(),
})

function refOf(kind: string, field: string, ref: unknown): z.output<typeof objectRef> {
  const parsed = objectRef.safeParse(ref)
  if (parsed.success) return parsed.data
  throw new NotConvertible(kind, field, 'PC0701', 'this is not a reference: `name` is required')
}

/** As in a file, under another name. */
const renamed =
  (kind: string): Converter =>
  (value, { field }) => [{ kind, field, value }]

/** The block of the specification; the short form is for files. */
const authorization =
  (kind: string): Converter =>
  (value, { field }) => {
    if (isFields(value) && value['rules'] !== undefined) {
      const hint = 'write `action` and `policy.matchExpressions`'
      throw new NotConvertible(kind, `${field}.rules`, 'PC0701', 'unknown field `rules`', hint)
    }
    return [{ kind, field, value }]
  }

/** `backendRef` in place of `host`, `service` and `backend`. */
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
  if (!parsed.success) throw new NotConvertible(kind, at, 'PC0701', 'this is not a backend')
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

const jwt: Converter = (value, context) => [
  { kind: 'jwtAuthentication', field: context.field, value: jwtValue(value, context) },
]

/** A key set at a backend is fetched by the name that the backend has within the cluster. */
function jwtValue(value: unknown, { field, namespace }: ConvertContext): unknown {
  if (!isFields(value) || !Array.isArray(value['providers'])) return value
  const providers = value['providers'].map((provider: unknown, index) => {
    const { jwks } = (provider ?? {}) as { readonly jwks?: Fields }
    const { remote } = (jwks ?? {}) as { readonly remote?: Fields }
    if (!isFields(provider) || remote === undefined) return provider
    const { url, backendRef, jwksPath, ...rest } = remote
    if (url !== undefined) return { ...provider, jwks: { url, ...rest } }
    const at = `${field}.providers[${index}].jwks.remote.backendRef`
    const ref = objectBackendRef.safeParse(backendRef)
    if (!ref.success || ref.data.group !== '' || ref.data.kind !== 'Service') {
      const message = 'a key set is fetched from a Service'
      throw new NotConvertible('jwtAuthentication', at, 'PC0704', message)
    }
    if (ref.data.namespace !== undefined && ref.data.namespace !== namespace) {
      const message = 'a key set is fetched from a Service in the namespace of the policy'
      throw new NotConvertible('jwtAuthentication', at, 'PC0703', message)
    }
    const { name, port } = ref.data
    const address = `http://${name}.${namespace}.svc.cluster.local:${port ?? 80}`
    return { ...provider, jwks: { url: `${address}${String(jwksPath ?? '')}`, ...rest } }
  })
  return { ...value, providers }
}

const basic: Converter = (value, context) => [
  { kind: 'basicAuth', field: context.field, value: basicValue(value, context) },
]

function basicValue(value: unknown, { field, namespace, view }: ConvertContext): unknown {
  if (!isFields(value) || value['secretRef'] === undefined) return value
  const { secretRef, ...rest } = value
  const { name, key = '.htaccess' } = refOf('basicAuth', `${field}.secretRef`, secretRef)
  const htpasswd = view.secretEntry(namespace, name, key)
  if (htpasswd === undefined || htpasswd === '') {
    const message = `there is no entry \`${key}\` in a Secret ${namespace}/${name}`
    throw new NotConvertible('basicAuth', `${field}.secretRef`, 'PC0702', message)
  }
  return { ...rest, htpasswd }
}

const apiKey: Converter = (value, context) => [
  { kind: 'apiKey', field: context.field, value: apiKeyValue(value, context) },
]

/** Of keys only digests get into the Model, and none of them into messages. */
function apiKeyValue(value: unknown, { field, namespace, view }: ConvertContext): unknown {
  if (!isFields(value)) return value
  const { secretRef, secretSelector, configMapSelector, ...rest } = value
  const keys: Fields[] = []
  const fail = (inner: string, message: string) => {
    throw new NotConvertible('apiKey', `${field}.${inner}`, 'PC0702', message)
  }
  if (secretRef !== undefined) {
    const { name } = refOf('apiKey', `${field}.secretRef`, secretRef)
    const entries = view.secretEntries(namespace, name)
    if (entries === undefined) fail('secretRef', `there is no Secret ${namespace}/${name}`)
    keys.push(...[...(entries ?? [])].map(([entry, text]) => digested(entry, text)))
  }
  const matching = (selector: unknown, inner: string) => {
    const parsed = labelSelector.safeParse(selector)
    if (!parsed.success) return fail(inner, '`matchLabels` is required')
    return parsed.data
  }
  if (secretSelector !== undefined) {
    const selector = matching(secretSelector, 'secretSelector')
    for (const one of view.all('Secret', secretSchema)) {
      if (one.namespace !== namespace || selector === undefined) continue
      if (!selects(selector, one.object.metadata.labels)) continue
      const entries = view.secretEntries(namespace, one.name) ?? []
      keys.push(...[...entries].map(([entry, text]) => digested(entry, text)))
    }
  }
  if (configMapSelector !== undefined) {
    const selector = matching(configMapSelector, 'configMapSelector')
    for (const one of view.all('ConfigMap', configMapSchema)) {
      if (one.namespace !== namespace || selector === undefined) continue
      if (!selects(selector, one.object.metadata.labels)) continue
      for (const [entry, keyHash] of Object.entries(one.value.data ?? {})) {
        keys.push({ keyHash, metadata: { name: entry } })
      }
    }
  }
  if (keys.length === 0) fail('', 'there are no keys, so that nobody could sign in')
  return { ...rest, keys }
}

function digested(entry: string, text: string): Fields {
  const digest = createHash('sha256').update(text.trim()).digest('hex')
  return { keyHash: `sha256:${digest}`, metadata: { name: entry } }
}

/** Each way to sign in as it is by itself. */
const authentication: Converter = (value, context) => {
  const { field } = context
  if (!isFields(value) || !Array.isArray(value['anyOf'])) {
    return [{ kind: 'authentication', field, value }]
  }
  const anyOf = value['anyOf'].map((way: unknown, index) => {
    if (!isFields(way)) return way
    const at = (key: string) => ({ ...context, field: `${field}.anyOf[${index}].${key}` })
    return Object.fromEntries(
      Object.entries(way).map(([key, inner]) => {
        if (key === 'jwtAuthentication') return [key, jwtValue(inner, at(key))]
        if (key === 'basicAuthentication') return [key, basicValue(inner, at(key))]
        return [key, key === 'apiKeyAuthentication' ? apiKeyValue(inner, at(key)) : inner]
      }),
    )
  })
  return [{ kind: 'authentication', field, value: { ...value, anyOf } }]
}

const backendAuth: Converter = (value, { field, namespace, view }) => {
  if (!isFields(value) || value['secretRef'] === undefined) {
    return [{ kind: 'backendAuth', field, value }]
  }
  const { secretRef, ...rest } = value
  const { name, key = 'Authorization' } = refOf('backendAuth', `${field}.secretRef`, secretRef)
  const text = view.secretEntry(namespace, name, key)
  if (text === undefined) {
    const message = `there is no entry \`${key}\` in a Secret ${namespace}/${name}`
    throw new NotConvertible('backendAuth', `${field}.secretRef`, 'PC0702', message)
  }
  return [{ kind: 'backendAuth', field, value: { ...rest, key: text.trim() } }]
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

/** A share is text in Kubernetes, which has no fractions: `0.1`, or an expression. */
const tracing = calling('tracing', (value) => {
  const share = (key: string) => {
    const text = value[key]
    const isShare = typeof text === 'string' && /^(0|1|0?\.[0-9]+|1\.0+|0\.[0-9]+)$/.test(text)
    return isShare ? { [key]: Number(text) } : {}
  }
  return { ...value, ...share('randomSampling'), ...share('clientSampling') }
})

/** Section → key in Kubernetes → how it is read. Kinds that are not here are as in a file. */
export const CONVERTERS: Readonly<Record<Section, Readonly<Record<string, Converter>>>> = {
  frontend: {
    networkAuthorization: authorization('networkAuthorization'),
    proxyProtocol: renamed('proxyProtocol'),
    tcp: renamed('frontendTcp'),
    tls: renamed('frontendTls'),
    http: renamed('frontendHttp'),
    connect: renamed('connect'),
    accessLog: renamed('accessLog'),
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
    extAuth: callingConditionally('extAuthz'),
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
    extAuth: calling('extAuthz'),
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
    mcp,
  },
}

/** Kinds that filters of routes set, or that have a key of another name here. */
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
])

/** Whether a key is a kind of policy that has the form and the name that it has in a file. */
export function isAsInFile(key: string, section: Section): boolean {
  if (SHAPED.has(key)) return false
  return POLICY_SCHEMAS.some(({ kind, sections }) => kind === key && sections[section])
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
