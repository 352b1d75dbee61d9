import { createHash } from 'node:crypto'
import {
  configMap as configMapSchema,
  secret as secretSchema,
} from '../resources/cluster-objects.ts'
import { labelSelector, selects } from '../resources/metadata.ts'
import { objectBackendRef } from '../resources/routes.ts'
import {
  type ConvertContext,
  type Converter,
  type Fields,
  isFields,
  NotConvertible,
  refOf,
} from './converter.ts'

/* Authentication policies, whose secrets Kubernetes stores in separate objects. */

export const jwt: Converter = (value, context) => [
  { kind: 'jwtAuthentication', field: context.field, value: jwtValue(value, context) },
]

function jwtValue(value: unknown, context: ConvertContext): unknown {
  if (!isFields(value) || !Array.isArray(value['providers'])) return value
  const providers = value['providers'].map((provider: unknown, index) => {
    if (!isFields(provider) || provider['jwks'] === undefined) return provider
    const at = `${context.field}.providers[${index}].jwks`
    return { ...provider, jwks: keySetValue('jwtAuthentication', provider['jwks'], at, context) }
  })
  const { clientSecretRef: ref, ...rest } = value
  if (ref === undefined) return { ...rest, providers }
  const at = `${context.field}.clientSecretRef`
  const { name, key = 'clientSecret' } = refOf('jwtAuthentication', at, ref)
  const text = context.view.secretEntry(context.namespace, name, key)?.trim()
  if (text === undefined) {
    const message = `entry \`${key}\` of Secret ${context.namespace}/${name} not found`
    throw new NotConvertible('jwtAuthentication', at, 'PC0702', message)
  }
  return { ...rest, providers, clientSecret: text }
}

/** A key set at a backend is fetched by the backend's name within the cluster. */
function keySetValue(
  kind: string,
  jwks: unknown,
  field: string,
  { namespace }: ConvertContext,
): unknown {
  const { remote } = (jwks ?? {}) as { readonly remote?: Fields }
  if (remote === undefined) return jwks
  const { url, backendRef, jwksPath, ...rest } = remote
  if (url !== undefined) return { url, ...rest }
  const at = `${field}.remote.backendRef`
  const ref = objectBackendRef.safeParse(backendRef)
  if (!ref.success || ref.data.group !== '' || ref.data.kind !== 'Service') {
    const message = 'a key set can be fetched only from a Service'
    throw new NotConvertible(kind, at, 'PC0704', message)
  }
  if (ref.data.namespace !== undefined && ref.data.namespace !== namespace) {
    const message = 'a key set can be fetched only from a Service in the namespace of the policy'
    throw new NotConvertible(kind, at, 'PC0703', message)
  }
  const { name, port } = ref.data
  const address = `http://${name}.${namespace}.svc.cluster.local:${port ?? 80}`
  return { url: `${address}${String(jwksPath ?? '')}`, ...rest }
}

/** The keys that agents sign with, and the gateway's key. */
export const a2a: Converter = (value, context) => {
  const { field, namespace, view } = context
  if (!isFields(value)) return [{ kind: 'a2a', field, value }]
  const { verify, sign } = value
  const verified = isFields(verify)
    ? {
        verify: {
          ...verify,
          jwks: keySetValue('a2a', verify['jwks'], `${field}.verify.jwks`, context),
        },
      }
    : {}
  if (!isFields(sign)) return [{ kind: 'a2a', field, value: { ...value, ...verified } }]
  const { secretRef, ...rest } = sign
  const at = `${field}.sign.secretRef`
  const { name, key = 'tls.key' } = refOf('a2a', at, secretRef)
  const text = view.secretEntry(namespace, name, key)
  if (text === undefined) {
    const message = `entry \`${key}\` of Secret ${namespace}/${name} not found`
    throw new NotConvertible('a2a', at, 'PC0702', message)
  }
  const signed = { sign: { ...rest, key: text } }
  return [{ kind: 'a2a', field, value: { ...value, ...verified, ...signed } }]
}

export const basic: Converter = (value, context) => [
  { kind: 'basicAuth', field: context.field, value: basicValue(value, context) },
]

function basicValue(value: unknown, { field, namespace, view }: ConvertContext): unknown {
  if (!isFields(value) || value['secretRef'] === undefined) return value
  const { secretRef, ...rest } = value
  const { name, key = '.htaccess' } = refOf('basicAuth', `${field}.secretRef`, secretRef)
  const htpasswd = view.secretEntry(namespace, name, key)
  if (htpasswd === undefined || htpasswd === '') {
    const message = `entry \`${key}\` of Secret ${namespace}/${name} not found`
    throw new NotConvertible('basicAuth', `${field}.secretRef`, 'PC0702', message)
  }
  return { ...rest, htpasswd }
}

export const oidc: Converter = (value, context) => {
  const { field, namespace, view } = context
  if (!isFields(value)) return [{ kind: 'oidc', field, value }]
  const { clientSecretRef, cookieSecretRef, ...rest } = value
  const fileOnly = ['clientSecret', 'cookieSecret', 'redirectURI'].find((key) => key in rest)
  if (fileOnly !== undefined) {
    const message = `unknown field \`${fileOnly}\``
    throw new NotConvertible('oidc', `${field}.${fileOnly}`, 'PC0701', message)
  }
  const textOf = (inner: string, ref: unknown, usual: string) => {
    const { name, key = usual } = refOf('oidc', `${field}.${inner}`, ref)
    const text = view.secretEntry(namespace, name, key)?.trim()
    if (text !== undefined && text !== '') return text
    const message = `entry \`${key}\` of Secret ${namespace}/${name} not found`
    throw new NotConvertible('oidc', `${field}.${inner}`, 'PC0702', message)
  }
  const cookieSecret = textOf('cookieSecretRef', cookieSecretRef, 'OIDC_COOKIE_SECRET')
  const clientSecret =
    clientSecretRef === undefined
      ? {}
      : { clientSecret: textOf('clientSecretRef', clientSecretRef, 'clientSecret') }
  return [{ kind: 'oidc', field, value: { ...rest, cookieSecret, ...clientSecret } }]
}

export const apiKey: Converter = (value, context) => [
  { kind: 'apiKey', field: context.field, value: apiKeyValue(value, context) },
]

/** Only hashes of keys are in the Model, and messages contain neither. */
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
    if (entries === undefined) fail('secretRef', `Secret ${namespace}/${name} not found`)
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
  if (keys.length === 0) fail('', 'no keys are configured, so no client can authenticate')
  return { ...rest, keys }
}

function digested(entry: string, text: string): Fields {
  const digest = createHash('sha256').update(text.trim()).digest('hex')
  return { keyHash: `sha256:${digest}`, metadata: { name: entry } }
}

/** Converts each authentication as it is converted alone. */
export const authentication: Converter = (value, context) => {
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
