import { ABSENT, type LandingCase } from './values.ts'

/** The fields of a Service, which both charts accept at `prefix`. */
export function serviceCases(prefix: string): readonly LandingCase[] {
  const verbatim: Readonly<Record<string, unknown>> = {
    clusterIP: 'None',
    clusterIPs: ['10.96.0.7', 'fd00::7'],
    externalIPs: ['192.0.2.7'],
    externalName: 'gateway.example.com',
    externalTrafficPolicy: 'Local',
    internalTrafficPolicy: 'Local',
    ipFamilies: ['IPv6', 'IPv4'],
    ipFamilyPolicy: 'RequireDualStack',
    loadBalancerClass: 'example.com/internal',
    loadBalancerIP: '192.0.2.8',
    loadBalancerSourceRanges: ['10.0.0.0/8'],
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
    trafficDistribution: 'PreferClose',
    type: 'NodePort',
    healthCheckNodePort: 31_500,
    publishNotReadyAddresses: true,
  }
  const own = [...Object.keys(verbatim), 'allocateLoadBalancerNodePorts'].filter(
    (name) => name !== 'type',
  )
  return [
    ...Object.entries(verbatim).map(
      ([name, value]): LandingCase => [`${prefix}.${name}`, value, 'Service', `spec.${name}`],
    ),
    // False is a value, null is not.
    ...[true, false].map(
      (value): LandingCase => [
        `${prefix}.allocateLoadBalancerNodePorts`,
        value,
        'Service',
        'spec.allocateLoadBalancerNodePorts',
      ],
    ),
    // The specification defines these two as strings.
    [
      `${prefix}.allocateLoadBalancerNodePorts`,
      'false',
      'Service',
      'spec.allocateLoadBalancerNodePorts',
      { expect: false },
    ],
    [
      `${prefix}.allocateLoadBalancerNodePorts`,
      '',
      'Service',
      'spec.allocateLoadBalancerNodePorts',
      { expect: ABSENT },
    ],
    [
      `${prefix}.healthCheckNodePort`,
      '31500',
      'Service',
      'spec.healthCheckNodePort',
      { expect: 31_500 },
    ],
    [
      `${prefix}.healthCheckNodePort`,
      '',
      'Service',
      'spec.healthCheckNodePort',
      { expect: ABSENT },
    ],
    ...own.map(
      (name): LandingCase => [
        `${prefix}.enabled`,
        true,
        'Service',
        `spec.${name}`,
        { expect: ABSENT },
      ],
    ),
    [
      `${prefix}.publishNotReadyAddresses`,
      false,
      'Service',
      'spec.publishNotReadyAddresses',
      { expect: ABSENT },
    ],
    [`${prefix}.annotations`, { 'a.example/b': 'c' }, 'Service', 'metadata.annotations'],
    [`${prefix}.enabled`, true, 'Service', 'metadata.annotations', { expect: ABSENT }],
    [
      `${prefix}.extraLabels`,
      { team: 'edge' },
      'Service',
      'metadata.labels.team',
      { expect: 'edge' },
    ],
    [
      `${prefix}.extraLabels`,
      { team: 'edge' },
      'Service',
      'spec.selector.team',
      { expect: ABSENT },
    ],
    [
      `${prefix}.extraLabels`,
      { team: 'edge' },
      'Deployment',
      'metadata.labels.team',
      { expect: ABSENT },
    ],
  ]
}
