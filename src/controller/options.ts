import * as z from 'zod'
import { type LabelSelector, labelSelector } from './resources/metadata.ts'

/** Options that the chart sets as environment variables, with their defaults. */
export interface ControllerOptions {
  readonly podName: string
  /** If undefined, objects that the pod writes for itself are not deleted with it. */
  readonly podUid: string | undefined
  readonly namespace: string
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  readonly xds: {
    readonly mode: 'plaintext' | 'tls' | 'either'
    readonly serviceName: string
    readonly port: number
  }
  readonly healthPort: number
  readonly metricsPort: number
  readonly controllerName: string
  readonly gatewayClassName: string
  /** Class → the ProxyParameters in its `parametersRef`. */
  readonly parametersRefs: Readonly<Record<string, ParametersRef>>
  readonly discoverySelectors: readonly LabelSelector[]
  /** If undefined, proxies are deployed in all namespaces. */
  readonly gatewayNamespaces: readonly string[] | undefined
  /** The only namespaces whose objects are read; if undefined, all. */
  readonly watchNamespaces: readonly string[] | undefined
  readonly models: boolean
  readonly inferenceExtension: boolean
  readonly xBackend: boolean
  readonly istio: Readonly<Record<string, string>>
  readonly proxyImage: {
    readonly registry: string
    readonly repository: string
    readonly tag: string | undefined
  }
}

export interface ParametersRef {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace: string
}

/** An invalid setting: the controller does not start with it. */
export class OptionError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>

const parametersRef = z.strictObject({
  group: z.string().default('portcullis.dev'),
  kind: z.string().default('ProxyParameters'),
  name: z.string().min(1),
  namespace: z.string().min(1),
})

const ISTIO = ['AUTO_ENABLED', 'CA_ADDRESS', 'CLUSTER_ID', 'NAMESPACE', 'NETWORK', 'REVISION']

export function readOptions(environment: Environment): ControllerOptions {
  const text = (name: string, otherwise: string) => {
    const value = environment[name]
    return value === undefined || value === '' ? otherwise : value
  }
  const json = <S extends z.ZodType>(name: string, schema: S, otherwise: z.output<S>) => {
    const written = text(name, '')
    if (written === '') return otherwise
    let value: unknown
    try {
      value = JSON.parse(written)
    } catch {
      throw new OptionError(`${name} is not JSON`)
    }
    const parsed = z.safeParse(schema, value)
    if (parsed.success) return parsed.data
    const [issue] = parsed.error.issues
    throw new OptionError(`${name}: ${issue?.path.join('.')}: ${issue?.message}`)
  }
  const oneOf = <const T extends string>(name: string, values: readonly T[], otherwise: T): T => {
    const written = text(name, otherwise)
    const known = values.find((value) => value === written)
    if (known === undefined) {
      throw new OptionError(
        `${name}: unknown value \`${written}\`; available: ${values.join(', ')}`,
      )
    }
    return known
  }
  const port = (name: string, otherwise: number) => {
    const number = Number(text(name, String(otherwise)))
    if (Number.isInteger(number) && number >= 0 && number < 65_536) return number
    throw new OptionError(`${name} must be a port number`)
  }
  const flag = (name: string) => oneOf(name, ['true', 'false'], 'false') === 'true'
  const prefix = 'PORTCULLIS_'
  const namespaces = json(`${prefix}GATEWAY_NAMESPACES`, z.array(z.string().min(1)), [])
  const watched = json(`${prefix}WATCH_NAMESPACES`, z.array(z.string().min(1)), [])
  const tag = text(`${prefix}PROXY_IMAGE_TAG`, '')
  return {
    podName: text('POD_NAME', `controller-${process.pid}`),
    podUid: text('POD_UID', '') || undefined,
    namespace: text('POD_NAMESPACE', 'portcullis-system'),
    logLevel: oneOf(`${prefix}LOG_LEVEL`, ['error', 'warn', 'info', 'debug', 'trace'], 'info'),
    xds: {
      mode: oneOf(`${prefix}XDS_MODE`, ['plaintext', 'tls', 'either'], 'tls'),
      serviceName: text(`${prefix}XDS_SERVICE_NAME`, 'portcullis'),
      port: port(`${prefix}XDS_PORT`, 9978),
    },
    healthPort: port(`${prefix}HEALTH_PORT`, 9093),
    metricsPort: port(`${prefix}METRICS_PORT`, 9092),
    controllerName: text(`${prefix}CONTROLLER_NAME`, 'portcullis.dev/controller'),
    gatewayClassName: text(`${prefix}GATEWAY_CLASS_NAME`, 'portcullis'),
    parametersRefs: json(
      `${prefix}GATEWAY_CLASS_PARAMETERS_REFS`,
      z.record(z.string(), parametersRef),
      {},
    ),
    discoverySelectors: json(`${prefix}DISCOVERY_NAMESPACE_SELECTORS`, z.array(labelSelector), []),
    gatewayNamespaces: namespaces.length === 0 ? undefined : namespaces,
    watchNamespaces: watched.length === 0 ? undefined : [...new Set(watched)],
    models: flag(`${prefix}MODELS_ENABLED`),
    inferenceExtension: flag(`${prefix}INFERENCE_EXTENSION_ENABLED`),
    xBackend: flag(`${prefix}XBACKEND_ENABLED`),
    istio: Object.fromEntries(
      ISTIO.flatMap((name) => {
        const value = text(`${prefix}ISTIO_${name}`, '')
        return value === '' ? [] : [[name, value]]
      }),
    ),
    proxyImage: {
      registry: text(`${prefix}PROXY_IMAGE_REGISTRY`, 'ghcr.io/portcullis-dev'),
      repository: text(`${prefix}PROXY_IMAGE_REPOSITORY`, 'portcullis-proxy'),
      tag: tag === '' ? undefined : tag,
    },
  }
}
