import type { Backend, Endpoint } from '../../model/backend.ts'
import type { Attached } from '../../model/policy.ts'
import { type ServiceObject, service } from '../resources/cluster-objects.ts'
import { type InferencePoolObject, pod } from '../resources/inference.ts'
import type { BackendTlsPolicies } from './backend-tls.ts'
import { reject, type Verdict } from './conditions.ts'
import type { Effects } from './effects.ts'
import { cleartextHttp2, endpointsOf, isCleartextHttp2, type ServicePort } from './services.ts'
import type { ClientMaterial } from './tls-value.ts'
import { type ClusterView, complaint, originOf, type Read } from './view.ts'

interface Picker {
  readonly ok: true
  /** Undefined if it is not among the manifests. */
  readonly service: Read<ServiceObject> | undefined
  readonly port: ServicePort
}

/** The Service of the endpoint picker, or why there is none. */
export function pickerOf(
  view: ClusterView,
  { namespace, value }: Read<InferencePoolObject>,
): Picker | Exclude<Verdict, { readonly ok: true }> {
  const { group, kind, name, port: number } = value.spec.endpointPickerRef
  const wrong = (message: string) => reject('InvalidExtensionRef', message)
  if (group !== '' || kind !== 'Service') {
    return wrong(`an endpoint picker cannot be a ${kind} of \`${group}\``)
  }
  const what = `Service ${namespace}/${name}`
  const found = view.get('Service', service, namespace, name)
  if (found === undefined && view.assumesMissing) {
    view.assume(kind, `${namespace}/${name}`)
    return { ok: true, service: undefined, port: { port: number, protocol: 'TCP' } }
  }
  if (found === undefined) return wrong(`${what} not found`)
  // It may lead out of the cluster, to any host that its owner names.
  if (found.value.spec.type === 'ExternalName')
    return wrong(`${what} is of type ExternalName, which is not supported`)
  const port = found.value.spec.ports.find((one) => one.port === number)
  return port === undefined
    ? wrong(`${what} has no port ${number}`)
    : { ok: true, service: found, port }
}

interface PoolParts {
  /** The name of the pool in the Model. */
  readonly name: string
  /** The name in the Model of the picker that selects one of its pods. */
  readonly picker: string
  /** The policies for the pool. */
  readonly policies: readonly Attached[]
}

/** The pods of a pool, among which its picker chooses. */
export function ofInferencePool(
  view: ClusterView,
  read: Read<InferencePoolObject>,
  { name, picker, policies: attached }: PoolParts,
): Backend {
  const origin = originOf(read, 'spec')
  if (read.problems.length > 0) {
    const diagnostics = read.problems.map(({ diagnostic }) => diagnostic)
    return { kind: 'invalid', name, origin, policies: attached, diagnostics }
  }
  const found = pickerOf(view, read)
  if (!found.ok) {
    const diagnostics = [complaint(read, 'spec.endpointPickerRef', 'PC0702', found.message)]
    return { kind: 'invalid', name, origin, policies: attached, diagnostics }
  }
  const { appProtocol, endpointPickerRef } = read.value.spec
  const { failureMode } = endpointPickerRef
  const policies: readonly Attached[] = [
    ...attached,
    ...(appProtocol === 'http' ? [] : [cleartextHttp2(name, origin)]),
    {
      ...{ state: 'valid', kind: 'inferenceRouting', section: 'backend', level: 'backend' },
      policy: `backend:${name}`,
      origin: originOf(read, 'spec.endpointPickerRef'),
      value: {
        endpointPicker: { kind: 'backend', backend: picker },
        failureMode,
        timeout: PICKER_TIMEOUT,
      },
    },
  ]
  return { kind: 'host', name, origin, policies, endpoints: podsOf(view, read) }
}

/** Milliseconds: the default of files. */
const PICKER_TIMEOUT = 5_000

/**
 * Separate from the Service itself, which routes may also use. Pickers create a certificate for
 * themselves when they start; a BackendTLSPolicy enables its verification.
 */
export function ofPicker(
  view: ClusterView,
  tls: BackendTlsPolicies,
  read: Read<InferencePoolObject>,
  name: string,
  client: ClientMaterial | undefined,
  effects: Effects,
): Backend {
  const origin = originOf(read, 'spec.endpointPickerRef')
  const found = pickerOf(view, read)
  if (!found.ok || read.problems.length > 0) {
    return { kind: 'invalid', name, origin, policies: [], diagnostics: [] }
  }
  const { service: own, port } = found
  if (own === undefined) {
    const host = `${read.value.spec.endpointPickerRef.name}.${read.namespace}.svc.cluster.local`
    const endpoints = [{ host, port: port.port }]
    return { kind: 'host', name, origin, policies: [], endpoints }
  }
  const verified = tls.at(own, port, client, effects)
  const policies: readonly Attached[] =
    verified !== undefined
      ? [verified]
      : isCleartextHttp2(port)
        ? [cleartextHttp2(name, origin)]
        : [
            {
              ...{ state: 'valid', kind: 'backendTLS', section: 'backend', level: 'backend' },
              policy: `backend:${name}`,
              origin,
              value: { insecure: true, insecureHost: true },
            },
          ]
  return { kind: 'host', name, origin, policies, endpoints: endpointsOf(view, own, port) }
}

/** The ready pods with each port, in a deterministic order. */
function podsOf(
  view: ClusterView,
  { namespace, value }: Read<InferencePoolObject>,
): readonly Endpoint[] {
  const { selector, targetPorts } = value.spec
  const wanted = { matchLabels: selector.matchLabels, matchExpressions: [] }
  const hosts = view.labelled('Pod', pod, namespace, wanted).flatMap((name) => {
    const found = view.get('Pod', pod, namespace, name)
    const { podIP, conditions } = found?.value.status ?? {}
    const isReady = (conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True')
    const isLeaving = found?.object.metadata.deletionTimestamp !== undefined
    return podIP === undefined || podIP === '' || !isReady || isLeaving ? [] : [podIP.toLowerCase()]
  })
  return [...new Set(hosts)]
    .sort()
    .flatMap((host) => targetPorts.map(({ number }) => ({ host, port: number })))
}
