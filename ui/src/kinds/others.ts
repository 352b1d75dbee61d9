import { key, rules } from './keys-and-budgets.ts'
import { first, type KindHints } from './kind-hints.ts'

export const gateways: KindHints = {
  noun: 'a gateway',
  plural: 'Gateways',
  what: 'A port to listen on, with its TLS settings and policies.',
  start: {},
  starts: [key('policies'), rules('policies')],
  forms: { 'gateways:': first('port', 'protocol', 'hostname', 'tls', 'policies') },
}

export const policies: KindHints = {
  noun: 'a policy',
  plural: 'Policies',
  what: 'Policies for a gateway, listener, route or backend that they name.',
  start: { name: '', target: { gateway: 'default' }, policy: {} },
  starts: [key('policy'), rules('policy')],
  forms: { 'policies:': first('name', 'target', 'policy') },
}

export const frontendPolicies: KindHints = {
  noun: 'policies of connections',
  plural: 'Policies of connections',
  what: 'Policies for all connections, such as limits, TLS settings and the access log.',
  start: {},
  starts: [],
  forms: {},
}

export const ui: KindHints = {
  noun: 'the Admin UI on a gateway',
  plural: 'Admin UI',
  what: 'The Admin UI on a gateway. Not served yet.',
  start: {},
  starts: [],
  forms: {},
}
