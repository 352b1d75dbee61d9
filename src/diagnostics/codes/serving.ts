import { defineCodes } from './define.ts'

const GATEWAY = 'gateways:\n  default:\n'

export const SERVING_CODES = defineCodes('PC04', 'Serving', [
  {
    code: 'PC0401',
    severity: 'error',
    title: 'a port cannot be listened on',
    explanation:
      'The operating system rejected the port: another process has it, or this user may not use ' +
      'it. At the start nothing is served then; while the gateway runs, it goes on with the ' +
      'configuration that it has.',
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
      'A certificate, its key, a cipher suite or a group was not accepted by the TLS library: the ' +
      'key does not belong to the certificate, or a name is not known. At the start nothing is ' +
      'served then; while the gateway runs, it goes on with the configuration that it has, the ' +
      'certificates included.',
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
    title: 'the file of decisions cannot be used',
    explanation:
      'The folder does not exist or may not be written to, or the file holds something else than ' +
      'records of decisions. A file that is configured is relied upon, so the gateway does not start ' +
      'without one.',
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
    title: 'a configuration could not be read to its end',
    explanation:
      'Reading the configuration failed in a way that says nothing about the file: memory or time ' +
      'ran out, or a fault of ours came up. What ran before goes on as it is, and the next change ' +
      'is read as usual. The message has what the system said; if the file is an ordinary one, ' +
      'please report it.',
    example: {
      language: 'yaml',
      wrong: '# a file that cannot be read in a minute',
      right: '# the same file in a plainer form, without anchors and aliases',
      sketch: true,
    },
  },
  {
    code: 'PC0405',
    severity: 'warning',
    title: 'a setting that takes effect after a restart',
    explanation:
      'The file was changed while it is served, and a key of `config` in it is another than at the ' +
      'start. `config` is about the process itself, and is read at the start only, except for ' +
      '`modelCatalog`. All else in the file has been taken over; `/config_dump` shows what runs.',
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
    title: 'an error that concerns no single part of the configuration',
    explanation:
      'With `--no-strict` a configuration with errors is applied part by part: an invalid policy ' +
      'denies what it guards, an invalid route gets 500, an invalid listener closes its ' +
      'connections, and the rest is served. This error does not tell what it guards: a policy ' +
      'without a target that can be read, a route of which it is not known what it matches, an ' +
      'unknown top-level key, a wrong setting of `config`. So the configuration is rejected as a ' +
      'whole, and the gateway keeps the previous one. Fix the error at the same place.',
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
    title: 'a secret of the environment is malformed or missing',
    explanation:
      'A variable holds a key or a token of the gateway itself, and is not one: ' +
      '`PORTCULLIS_STORAGE_KEY` is one key of 64 hexadecimal digits, or several separated by ' +
      'commas, of which the first encrypts what is stored and all decrypt it; ' +
      '`PORTCULLIS_ADMIN_TOKEN` has at least 16 printable characters; `OIDC_COOKIE_SECRET`, which ' +
      'sign-in by OpenID Connect needs unless the policy `oidc` has a `cookieSecret`, is a random ' +
      'key of 64 hexadecimal digits, the same for all replicas. The gateway does not start, since it would be less safe than it looks.',
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
      '`config.storage.mode: database` stores changes in PostgreSQL, and `config.database.url` ' +
      'says where that is: `postgres://user:password@host:5432/database`. It is missing, or is not ' +
      'such a URL. Whether the database can be reached is another matter: the gateway starts, ' +
      'serves what it knows, and connects again and again.',
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
    title: 'the file of budgets cannot be used',
    explanation:
      '`config.budgets.file` holds what calls to models have used, so that budgets are exact over ' +
      'restarts. It cannot be read or written, or it is another file. The gateway does not start: ' +
      'with a new file everything that was used would be forgotten. If that is what you want, ' +
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
    title: "the file of users' tokens cannot be used",
    explanation:
      '`config.userTokens.file` holds the tokens of users for backends (`backendAuth.oauthUserToken`). ' +
      'It cannot be read or written, or it is another file. The gateway does not start: with a new ' +
      'file every user would have to consent again. If that is what you want, remove the file.',
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
    title: 'tokens of users need a key',
    explanation:
      '`backendAuth.oauthUserToken` keeps tokens of users encrypted. In a file or a database they ' +
      'outlive the gateway, so that the key must, too: set the variable `SESSION_KEY` (or ' +
      '`config.session.key`) to 64 hexadecimal digits, the same for all replicas.',
    example: {
      language: 'text',
      wrong: 'portcullis run',
      right: 'SESSION_KEY=$(openssl rand -hex 32) portcullis run',
      sketch: true,
    },
  },
])
