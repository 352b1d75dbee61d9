import { objectName } from './object-name.ts'
import type { ProxyParameters } from './parameters.ts'
import type { DeployedGateway } from './render.ts'

/** A Gateway of the cluster, as far as its proxies depend on it. */
export interface GatewayObject {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly spec: {
    readonly gatewayClassName: string
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[]
    readonly infrastructure?: {
      readonly labels?: Readonly<Record<string, string>>
      readonly annotations?: Readonly<Record<string, string>>
      readonly parametersRef?: ParametersRef
    }
  }
}

export interface ParametersRef {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

/** The deployment, or why it is impossible: the message of Accepted, reason InvalidParameters. */
export type DeployInputs =
  | { readonly gateway: DeployedGateway; readonly parameters: readonly ProxyParameters[] }
  | { readonly invalid: string }

/** `ports`: of the accepted listeners, including those of ListenerSets. */
export function inputsOf(
  { metadata, spec }: GatewayObject,
  classRef: ParametersRef | undefined,
  ports: readonly number[],
  parametersNamed: (namespace: string, name: string) => ProxyParameters | undefined,
): DeployInputs {
  const { gatewayClassName: className, addresses = [], infrastructure = {} } = spec
  const parameters: ProxyParameters[] = []
  const own = infrastructure.parametersRef && {
    ...infrastructure.parametersRef,
    namespace: metadata.namespace,
  }
  for (const [place, ref] of [
    [`GatewayClass ${className}`, classRef],
    ['spec.infrastructure', own],
  ] as const) {
    if (ref === undefined) continue
    const { group, kind, namespace, name } = ref
    if (group !== 'portcullis.dev' || kind !== 'ProxyParameters') {
      return {
        invalid: `${place}: parametersRef must reference a ProxyParameters, not a ${kind}.${group}`,
      }
    }
    if (namespace === undefined) return { invalid: `${place}: parametersRef has no namespace` }
    const found = parametersNamed(namespace, name)
    if (found === undefined)
      return { invalid: `${place}: ProxyParameters ${namespace}/${name} not found` }
    parameters.push(found)
  }
  const { labels, annotations } = infrastructure
  const gateway = {
    ...metadata,
    className,
    ports,
    addresses: addresses.flatMap(({ type = 'IPAddress', value = '' }) =>
      type === 'IPAddress' && value !== '' ? [value] : [],
    ),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  }
  return { gateway, parameters }
}

/** The Gateway for which a service account was deployed; undefined if there is none. */
export function gatewayOfAccount(
  gateways: Iterable<{ readonly namespace: string; readonly name: string }>,
): (namespace: string, account: string) => string | undefined {
  const byAccount = new Map<string, string>()
  for (const { namespace, name } of gateways) {
    byAccount.set(`${namespace}/${objectName(name)}`, `${namespace}/${name}`)
  }
  return (namespace, account) => byAccount.get(`${namespace}/${account}`)
}
