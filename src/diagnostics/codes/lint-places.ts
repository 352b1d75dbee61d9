import type { CodeRecord } from './define.ts'

const withHttp = (settings: string) => `frontendPolicies:
  http: { ${settings} }
gateways:
  default: { port: 8080 }
routes:
- backends:
  - host: 127.0.0.1:9000
`

/** The other finding about it is not the subject of the example. */
const UI = `ui: # lint: AZ037 a proxy in front of the gateway terminates TLS
`

const TLS = 'tls: { cert: server.crt, key: server.key }'

/** Settings that let clients say what only the gateway knows. */
export const LINT_PLACE_CODES: readonly CodeRecord[] = [
  {
    code: 'AZ036',
    severity: 'warning',
    title: 'clients can forge the address that backends see',
    explanation:
      'With `forwarded: Preserve`, backends get `X-Forwarded-For`, `X-Real-IP`, `Forwarded` and ' +
      'similar headers as they arrive, and without `trustedHops` they arrive from clients, which ' +
      'can write anything into them. Backends that log, limit or allow by these addresses can be ' +
      'deceived. Remove the setting, so that the gateway writes the headers itself, or set ' +
      '`trustedHops` to the number of proxies in front of it.',
    example: {
      language: 'yaml',
      wrong: withHttp('forwarded: Preserve'),
      right: withHttp('forwarded: Preserve, trustedHops: 1'),
    },
  },
  {
    code: 'AZ037',
    severity: 'warning',
    title: 'the Admin UI is served without TLS',
    explanation:
      '`ui` serves the Admin UI on the port of a gateway, which other machines can reach. Without ' +
      'TLS, anyone on the way can read the token or the session of its users, and change the ' +
      'configuration with it. Set `tls` on the listener. If a proxy in front of the gateway ' +
      'terminates TLS, suppress this finding.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: { port: 8080 }\nui: {}',
      right: `gateways:\n  default: { port: 8443, ${TLS} }\nui: {}`,
    },
  },
  {
    code: 'AZ038',
    severity: 'warning',
    title: 'the Admin UI shares its origin with an application',
    explanation:
      'Browsers separate pages by scheme, host and port. A script in a page of another route on ' +
      'the same listener, such as an application with a flaw, can call the admin API as the user who ' +
      'is signed in, and read the token of the tab. Serve the UI on a listener with a hostname ' +
      'of its own, or on a gateway of its own.',
    example: {
      language: 'yaml',
      wrong: `gateways:
  default: { port: 8080 }
routes:
- backends:
  - host: 127.0.0.1:9000
${UI}  gateways: default`,
      right: `gateways:
  default:
    port: 8080
    listeners:
    - name: apps
      hostname: apps.example.com
    - name: admin
      hostname: admin.example.com
routes:
- gateways: default/apps
  backends:
  - host: 127.0.0.1:9000
${UI}  gateways: default/admin`,
    },
  },
]
