import { defineCodes } from './define.ts'

const GATEWAY = 'gateways:\n  default:\n'

export const SERVING_CODES = defineCodes('PC04', 'Serving', [
  {
    code: 'PC0401',
    severity: 'error',
    title: 'a port cannot be opened',
    explanation:
      'The operating system rejected the port: another process uses it, or the user is not ' +
      'permitted to. At startup, nothing is served; a running gateway keeps the previous ' +
      'configuration.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}    port: 80 # as a user without rights`,
      right: `${GATEWAY}    port: 8080`,
      sketch: true,
    },
  },
  {
    code: 'PC0402',
    severity: 'error',
    title: 'certificates or keys for TLS cannot be used',
    explanation:
      'The TLS library rejected a certificate, its key, a cipher suite or a key exchange group: ' +
      'the key does not match the certificate, or a name is unknown. At startup, nothing is ' +
      'served; a running gateway keeps the previous configuration, including its certificates.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}    port: 443\n    tls: { cert: a.crt, key: b.key }`,
      right: `${GATEWAY}    port: 443\n    tls: { cert: a.crt, key: a.key }`,
      sketch: true,
    },
  },
  {
    code: 'PC0403',
    severity: 'error',
    title: 'the decision file cannot be used',
    explanation:
      'The folder does not exist or is not writable, or the file contains something other than ' +
      'decision records. The records may be required for audits, so the gateway does not start ' +
      'without the configured file.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  decisions:\n    file: { path: /no/such/folder/decisions.jsonl }',
      right: 'config:\n  decisions:\n    file: { path: /var/log/portcullis/decisions.jsonl }',
      sketch: true,
    },
  },
  {
    code: 'PC0404',
    severity: 'error',
    title: 'the configuration could not be loaded',
    explanation:
      'Loading the configuration failed for a reason that is not a mistake in the file: memory ' +
      'or time ran out, or an internal error occurred. The gateway keeps the previous ' +
      'configuration, and the next change is loaded as usual. The message contains the error of ' +
      'the system; if the file is not unusual, please report it.',
    example: {
      language: 'yaml',
      wrong: '# a file that takes more than a minute to load',
      right: '# the same file in a simpler form, without anchors and aliases',
      sketch: true,
    },
  },
  {
    code: 'PC0405',
    severity: 'warning',
    title: 'a setting takes effect after a restart',
    explanation:
      'The file was changed while the gateway is running, and a field of `config` differs from ' +
      'startup. `config` contains process settings, which are only read at startup, except for ' +
      '`modelCatalog`. Everything else in the file has been applied; `/config_dump` shows the ' +
      'running configuration.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  workers: 4 # was 2 when the process was started',
      right: 'config:\n  workers: 2',
      sketch: true,
    },
  },
  {
    code: 'PC0406',
    severity: 'error',
    title: 'an error cannot be confined to a single resource',
    explanation:
      'With `--no-strict`, a configuration with errors is applied in part: an invalid policy ' +
      'denies what it guards, an invalid route gets 500, an invalid listener closes its ' +
      'connections, and the rest is served. For this error it is unknown what it affects: a ' +
      'policy without a valid target, a route whose matches are invalid, an unknown top-level ' +
      'field, or an invalid setting in `config`. The whole configuration is therefore rejected, ' +
      'and the gateway keeps the previous one. Fix the error in the same place.',
    example: {
      language: 'yaml',
      wrong: 'polices: []',
      right: 'policies: []',
      sketch: true,
    },
  },
  {
    code: 'PC0407',
    severity: 'error',
    title: 'a secret in the environment is malformed or missing',
    explanation:
      'An environment variable should contain a key or token of the gateway, but its value is ' +
      'not valid. `PORTCULLIS_STORAGE_KEY` is one key of 64 hexadecimal digits, or several ' +
      'separated by commas; the first one encrypts stored data, and all of them decrypt it. ' +
      '`PORTCULLIS_ADMIN_TOKEN` has at least 16 printable characters. `OIDC_COOKIE_SECRET` is ' +
      'required for OpenID Connect sign-in unless the `oidc` policy has a `cookieSecret`; it is ' +
      'a random key of 64 hexadecimal digits, the same for all replicas. The gateway does not ' +
      'start, because it would be less secure than it appears.',
    example: {
      language: 'text',
      wrong: 'PORTCULLIS_STORAGE_KEY=secret portcullis run -f gateway.yaml',
      right: 'PORTCULLIS_STORAGE_KEY=$(openssl rand -hex 32) portcullis run -f gateway.yaml',
      sketch: true,
    },
  },
  {
    code: 'PC0408',
    severity: 'error',
    title: 'database mode without a database',
    explanation:
      '`config.storage.mode: database` stores changes in PostgreSQL and requires ' +
      '`config.database.url`: `postgres://user:password@host:5432/database`. It is missing or ' +
      'not a valid URL. The database does not have to be reachable: the gateway starts, serves ' +
      'the configuration that it has, and keeps trying to connect.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  storage: { mode: database }\ngateways:\n  default: { port: 8080 }',
      right:
        'config:\n  storage: { mode: database }\n  database: { url: "postgres://portcullis@db/portcullis" }\n' +
        'gateways:\n  default: { port: 8080 }',
    },
  },
  {
    code: 'PC0418',
    severity: 'error',
    title: 'the budget file cannot be used',
    explanation:
      '`config.budgets.file` stores the usage of model calls, so that budgets are exact across ' +
      'restarts. It cannot be read or written, or it is a different kind of file. The gateway ' +
      'does not start, because a new file would reset the usage. If that is what you want, ' +
      'remove the file.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  budgets: { file: /etc/passwd }',
      right: 'config:\n  budgets: { file: /var/lib/portcullis/budgets }',
      sketch: true,
    },
  },
  {
    code: 'PC0419',
    severity: 'error',
    title: 'the user token file cannot be used',
    explanation:
      '`config.userTokens.file` stores the tokens of users for backends ' +
      '(`backendAuth.oauthUserToken`). It cannot be read or written, or it is a different kind ' +
      'of file. The gateway does not start, because with a new file every user would have to ' +
      'consent again. If that is what you want, remove the file.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  userTokens: { file: /etc/passwd }',
      right: 'config:\n  userTokens: { file: /var/lib/portcullis/user-tokens }',
      sketch: true,
    },
  },
  {
    code: 'PC0420',
    severity: 'error',
    title: 'user tokens require a key',
    explanation:
      '`backendAuth.oauthUserToken` stores the tokens of users encrypted. In a file or a ' +
      'database they outlive the process, and so must the key: set the environment variable ' +
      '`SESSION_KEY` (or `config.session.key`) to 64 hexadecimal digits, the same for all ' +
      'replicas.',
    example: {
      language: 'text',
      wrong: 'portcullis run',
      right: 'SESSION_KEY=$(openssl rand -hex 32) portcullis run',
      sketch: true,
    },
  },
])
