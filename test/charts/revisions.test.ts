import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import {
  type KubernetesObject,
  options,
  readObjects,
  render,
  renderText,
  type Values,
} from './helm.ts'
import { at, find, merge } from './values.ts'

const CHART = 'portcullis-standalone'
const ROUTES: Values = {
  config: {
    gateways: { default: { port: 4000 } },
    routes: [{ name: 'a', policies: { directResponse: { status: 200, body: 'a\n\n' } } }],
  },
}
const MOUNTS: Values = {
  extraEnv: [{ name: 'A', value: 'b' }],
  extraVolumes: [{ name: 'issuer', secret: { secretName: 'issuer-keys' } }],
  extraVolumeMounts: [{ name: 'issuer', mountPath: '/issuer', readOnly: true }],
  imagePullSecrets: [{ name: 'pull' }],
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'edge', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  dnsConfig: { searches: ['a'] },
}

const podOf = (values: Values) =>
  at(find(render(CHART, values), 'Deployment'), 'spec.template.spec')
const configName = (values: Values) => at(podOf(values), 'volumes[0].configMap.name') as string

/** All objects that a hook creates, by event. */
function hooks(values: Values, event: string): readonly KubernetesObject[] {
  return readObjects(renderText(CHART, values)).filter(({ metadata }) =>
    (metadata.annotations?.['helm.sh/hook'] ?? '').split(',').includes(event),
  )
}

const fileIn = (map: KubernetesObject) => at(map, 'data["config.yaml"]') as string

describe('the ConfigMap of a revision', options, () => {
  it('is the one that its pods mount', () => {
    const map = find(render(CHART, ROUTES), 'ConfigMap')
    assert.equal(map.metadata.name, configName(ROUTES))
    assert.match(map.metadata.name, /^edge-config-[0-9a-f]{10}$/)
  })

  it('keeps its name for settings that take effect in running pods', () => {
    assert.equal(configName(ROUTES), configName({}))
  })

  for (const [what, values] of [
    ['a setting that is read at the start', { config: { config: { workers: 2 } } }],
    ['a mount', MOUNTS],
    ['a variable', { extraEnv: [{ name: 'A', value: 'b' }] }],
    ['an image', { image: { tag: '2' } }],
    ['an annotation', { podAnnotations: { a: 'b' } }],
    ['resources', { resources: { limits: { memory: '1Gi' } } }],
  ] as const) {
    // Pods of the previous template keep the file that they can read.
    it(`has another name with ${what}`, () => {
      assert.notEqual(configName(merge(ROUTES, values as Values)), configName(ROUTES))
    })
  }

  it('has a name within the limit, however long that of the release is', () => {
    const name = configName({ fullnameOverride: 'a'.repeat(63) })
    assert.equal(name.length, 63)
    assert.match(name, /^a+-config-[0-9a-f]{10}$/)
  })

  it('contains every line of the file, those at its end too', () => {
    const config = { ...(ROUTES['config'] as object), zz: 'a\n\n\n' }
    const text = fileIn(find(render(CHART, { config }), 'ConfigMap'))
    assert.deepEqual(parse(text), { ...config, config: { storage: { mode: 'readonly' } } })
    const pod = find(hooks({ config }, 'test'), 'Pod')
    const hash = createHash('sha256').update(text).digest('hex')
    assert.equal(at(pod, 'spec.containers[0].env["name=CONFIG"].value'), hash)
  })
})

describe('before an installation or an upgrade', options, () => {
  const values = merge(ROUTES, MOUNTS)
  const [map, job, ...others] = hooks(values, 'pre-upgrade')
  const pod = at(job, 'spec.template.spec')
  const proxy = podOf(values)

  it('a Job with its own ConfigMap validates the configuration', () => {
    assert.deepEqual(others, [])
    assert.deepEqual([map?.kind, job?.kind], ['ConfigMap', 'Job'])
    assert.deepEqual(hooks(values, 'pre-install'), [map, job])
    const weight = (one?: KubernetesObject) =>
      Number(one?.metadata.annotations?.['helm.sh/hook-weight'])
    assert.ok(weight(map) < weight(job))
    assert.equal(at(pod, 'volumes[0].configMap.name'), map?.metadata.name)
    assert.equal(fileIn(map as KubernetesObject), fileIn(find(render(CHART, values), 'ConfigMap')))
    assert.deepEqual(at(pod, 'containers[0].args'), ['validate', '--file', '/config/config.yaml'])
    assert.equal(at(job, 'spec.backoffLimit'), 0)
  })

  for (const part of [
    'containers[0].image',
    'containers[0].imagePullPolicy',
    'containers[0].env',
    'containers[0].resources',
    'containers[0].securityContext',
    'containers[0].volumeMounts',
    'volumes[2]',
    'securityContext',
    'automountServiceAccountToken',
    'imagePullSecrets',
    'nodeSelector',
    'tolerations',
    'affinity',
    'dnsConfig',
  ]) {
    it(`its pod has the same ${part} as the proxy's`, () => {
      assert.notEqual(at(proxy, part), undefined)
      assert.deepEqual(at(pod, part), at(proxy, part))
    })
  }

  it('its pod uses no account of the release, which does not exist yet', () => {
    assert.equal(at(pod, 'serviceAccountName'), undefined)
    const [, mine] = hooks({ serviceAccount: { create: false, name: 'mine' } }, 'pre-install')
    assert.equal(at(mine, 'spec.template.spec.serviceAccountName'), 'mine')
  })

  it('its pod is scheduled to the node of volumes that only one node can attach', () => {
    const extraVolumes = [{ name: 'records', persistentVolumeClaim: { claimName: 'records' } }]
    const [, claimant] = hooks({ extraVolumes }, 'pre-upgrade')
    const [, other] = hooks({}, 'pre-upgrade')
    const path =
      'spec.template.spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector'
    const selector = at(find(render(CHART, {}), 'Deployment'), 'spec.selector')
    assert.deepEqual(at(claimant, path), selector)
    assert.equal(at(other, 'spec.template.spec.affinity'), undefined)
  })

  it('nothing selects its pod', () => {
    const selector = at(find(render(CHART, values), 'Deployment'), 'spec.selector.matchLabels')
    const labels = at(job, 'spec.template.metadata.labels') as Readonly<Record<string, string>>
    const isSelected = Object.entries(selector as object).every(
      ([key, value]) => labels[key] === value,
    )
    assert.equal(isSelected, false)
  })
})

describe('helm test', options, () => {
  const variable = (pod: KubernetesObject | undefined, name: string) =>
    at(pod, `spec.containers[0].env["name=${name}"].value`)

  it('requests the served configuration from every pod', () => {
    const made = hooks(ROUTES, 'test')
    const service = find(made, 'Service')
    const pod = find(made, 'Pod')
    assert.equal(at(service, 'spec.clusterIP'), 'None')
    assert.equal(at(service, 'spec.publishNotReadyAddresses'), true)
    assert.deepEqual(
      at(service, 'spec.selector'),
      at(find(render(CHART, ROUTES), 'Deployment'), 'spec.selector.matchLabels'),
    )
    assert.equal(variable(pod, 'PODS'), service.metadata.name)
    // A pod resolves its own name to its own address.
    assert.notEqual(pod.metadata.name, service.metadata.name)
    assert.equal(variable(pod, 'READINESS_PORT'), '15021')
    const file = fileIn(find(render(CHART, ROUTES), 'ConfigMap'))
    const hash = createHash('sha256').update(file).digest('hex')
    assert.equal(variable(pod, 'CONFIG'), hash)
  })

  it('works without a service of the gateway, too', () => {
    const pod = find(hooks({ gateway: { service: { enabled: false } } }, 'test'), 'Pod')
    assert.equal(variable(pod, 'PORTS'), '[]')
    assert.match(String(variable(pod, 'CONFIG')), /^[0-9a-f]{64}$/)
  })
})
