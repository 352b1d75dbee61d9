import type { SecretRef } from '../../model/secret.ts'
import type { TlsValidation } from '../resources/cluster-objects.ts'

/** The certificate that the Gateway presents to backends that request one. */
export interface ClientMaterial {
  readonly cert: { readonly text: string }
  readonly key: SecretRef
}

/** The value of `backendTLS`; without `roots`, the system's CAs are trusted. */
export function tlsValue(
  { hostname, subjectAltNames = [] }: Pick<TlsValidation, 'hostname'> & Partial<TlsValidation>,
  roots: string | undefined,
  client: ClientMaterial | undefined,
) {
  const names = subjectAltNames.flatMap(({ hostname: dns, uri }) => dns ?? uri ?? [])
  return {
    hostname,
    insecure: false,
    insecureHost: false,
    ...(roots === undefined ? {} : { root: { text: roots } }),
    ...(names.length === 0 ? {} : { subjectAltNames: names }),
    ...(client === undefined ? {} : client),
  }
}
