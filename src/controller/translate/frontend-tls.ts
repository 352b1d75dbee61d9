import type { ClientCertificates } from '../../model/gateway.ts'
import type { FrontendValidation, GatewayObject, ListenerSpec } from '../resources/gateway.ts'
import { GATEWAY_API } from '../resources/metadata.ts'
import { readAuthorities } from './certificates.ts'
import { firstRejection, OK, reject, type Verdict } from './conditions.ts'
import type { ClusterView, Read } from './view.ts'

export interface Clients {
  readonly clients: ClientCertificates | undefined
  readonly accepted: Verdict
  readonly resolved: Verdict
}

/** A Gateway's settings for client certificates. */
export interface Frontend {
  clientsOf(listener: ListenerSpec): Clients
  /** Whether any setting admits clients without a valid certificate. */
  readonly isInsecure: boolean
}

const NO_CLIENTS: Clients = { clients: undefined, accepted: OK, resolved: OK }

/** `spec.tls.frontend`: for a port, or else for all. */
export function frontendOf(view: ClusterView, gateway: Read<GatewayObject>): Frontend {
  const { frontend } = gateway.value.spec.tls ?? {}
  const all = [frontend?.default, ...(frontend?.perPort.map(({ tls }) => tls) ?? [])]
  return {
    isInsecure: all.some((one) => one?.validation?.mode === 'AllowInsecureFallback'),
    clientsOf({ protocol, port, tls }) {
      if (protocol !== 'HTTPS' && (protocol !== 'TLS' || tls?.mode === 'Passthrough')) {
        return NO_CLIENTS
      }
      const own = frontend?.perPort.find((one) => one.port === port)
      const { validation } = (own === undefined ? frontend?.default : own.tls) ?? {}
      return validation === undefined ? NO_CLIENTS : read(view, gateway, validation)
    },
  }
}

function read(
  view: ClusterView,
  { namespace }: Read<GatewayObject>,
  { caCertificateRefs, mode }: FrontendValidation,
): Clients {
  const from = { group: GATEWAY_API, kind: 'Gateway', namespace }
  const reasons = { invalid: 'InvalidCACertificateRef', kind: 'InvalidCACertificateKind' }
  const all = caCertificateRefs.map((ref) => readAuthorities(view, from, ref, reasons))
  const texts = all.flatMap((one) => (one.ok ? [one.text] : []))
  const resolved = firstRejection(all)
  if (texts.length === 0) {
    const message = 'none of the CA certificates for client validation can be read'
    return { clients: undefined, accepted: reject('NoValidCACertificate', message), resolved }
  }
  const ca = { text: texts.join('\n') }
  // An unknown mode requires a valid certificate.
  const isOpen = mode === 'AllowInsecureFallback'
  const clients = isOpen
    ? ({ ca, mode: 'Optional', ignoresInvalid: true } as const)
    : ({ ca, mode: 'Require' } as const)
  return { clients, accepted: OK, resolved }
}
