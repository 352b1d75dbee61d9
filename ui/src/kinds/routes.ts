import { key, rules } from './keys-and-budgets.ts'
import { first, type KindHints } from './kind-hints.ts'

export const routes: KindHints = {
  noun: 'a route',
  plural: 'Routes',
  what: 'Which requests go where, and what guards them.',
  start: { name: '', matches: [{ path: { pathPrefix: '/' } }], backends: [{ backend: '' }] },
  starts: [
    rules('policies'),
    key('policies'),
    { id: 'backend', label: 'a backend', to: ['backends'], value: { backend: '' }, isItem: true },
  ],
  forms: {
    'routes:': first('name', 'hostnames', 'matches', 'backends', 'policies'),
    'match:': first('path'),
  },
}

export const routeGroups: KindHints = {
  noun: 'a route group',
  plural: 'Route groups',
  what: 'Routes that other routes delegate to.',
  start: { name: '', routes: [{ matches: [{ path: { pathPrefix: '/' } }], backends: [] }] },
  starts: [],
  forms: { 'routeGroups:routes[]': first('name', 'matches', 'backends', 'policies') },
}

export const tcpRoutes: KindHints = {
  noun: 'a TCP route',
  plural: 'TCP routes',
  what: 'Where connections of TCP and TLS listeners go.',
  start: { name: '', backends: [{ backend: '' }] },
  starts: [],
  forms: { 'tcpRoutes:': first('name', 'gateways', 'hostnames', 'backends') },
}
