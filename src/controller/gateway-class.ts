import { APPLY_PATCH, ask, type KubeClient } from './cluster/client.ts'
import { objectsOf, type Snapshot } from './cluster/snapshot.ts'
import type { ControllerOptions } from './options.ts'

/** Applies the controller's own class and those with parameters from the chart. */
export async function applyClasses(
  client: KubeClient,
  snapshot: Snapshot,
  options: Pick<ControllerOptions, 'controllerName' | 'gatewayClassName' | 'parametersRefs'>,
): Promise<readonly string[]> {
  const { controllerName, gatewayClassName, parametersRefs } = options
  const names = new Set([gatewayClassName, ...Object.keys(parametersRefs)])
  const applied: string[] = []
  for (const name of names) {
    const live = objectsOf(snapshot, 'GatewayClass').get(name)
    const parametersRef = parametersRefs[name]
    const spec = {
      controllerName,
      description: 'Gateways served by Portcullis',
      ...(parametersRef === undefined ? {} : { parametersRef }),
    }
    // A class of another controller must not be changed, and its controllerName is immutable.
    const known = (live?.spec ?? {}) as {
      readonly controllerName?: string
      readonly parametersRef?: unknown
    }
    if (live !== undefined && known.controllerName !== controllerName) continue
    const isSame =
      JSON.stringify(sorted(known.parametersRef)) === JSON.stringify(sorted(parametersRef))
    if (live !== undefined && isSame) continue
    const path = `/apis/gateway.networking.k8s.io/v1/gatewayclasses/${name}?fieldManager=portcullis&force=true`
    const body = {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'GatewayClass',
      metadata: { name },
      spec,
    }
    await ask(client, 'PATCH', path, { body, contentType: APPLY_PATCH })
    applied.push(name)
  }
  return applied
}

function sorted(ref: unknown): unknown {
  return ref === undefined
    ? null
    : Object.entries(ref as object).sort(([a], [b]) => (a < b ? -1 : 1))
}
