// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are files that name variables

import { defineCodes } from './define.ts'

export const FILE_CODES = defineCodes('PC02', 'Configuration files', [
  {
    code: 'PC0201',
    severity: 'error',
    title: 'the configuration file cannot be read',
    explanation:
      'The file does not exist, is not readable by the user that the gateway runs as, is a ' +
      'directory, is larger than 64 MiB or is not valid UTF-8. The message says which. In a ' +
      'container, check whether the volume is mounted and who owns it. Nothing is served from a ' +
      'file that cannot be read; a running gateway keeps the previous configuration.',
    example: {
      language: 'text',
      wrong: 'portcullis validate gatway.yaml',
      right: 'portcullis validate gateway.yaml',
      sketch: true,
    },
  },
  {
    code: 'PC0202',
    severity: 'error',
    title: 'invalid YAML',
    explanation:
      'The file cannot be parsed as YAML (JSON is also YAML). Common causes are inconsistent ' +
      'indentation, a tab, an unclosed quote or bracket, and a value that contains a colon or ' +
      '`#` and needs quotes. Write expressions in double quotes or as a `|` block. The rest of ' +
      'the file is not checked until this is fixed.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    port: 8080\n   tls: {}',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0203',
    severity: 'error',
    title: 'duplicate key',
    explanation:
      'A mapping contains the same key twice. Only one of them could apply, and which one ' +
      'depends on the parser, so readers and the gateway could disagree. This often happens ' +
      'when a block is pasted below another one of the same name. Remove one of them, or merge ' +
      'their contents.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: { port: 8080 }\n  default: { port: 8081 }',
      right: 'gateways:\n  default: { port: 8080 }\n  other: { port: 8081 }',
    },
  },
  {
    code: 'PC0204',
    severity: 'error',
    title: 'an environment variable is not set',
    explanation:
      '`${NAME}` and `$NAME` in a value are replaced by an environment variable of the gateway; ' +
      'within a longer value, `$NAME` is kept if the variable is not set. The variable is not ' +
      'set, and continuing with an empty string would be dangerous. Set the variable, or ' +
      'provide a default: `${NAME:-value}`. `$$` is a literal dollar sign anywhere: use it ' +
      'before `{`, for a value such as `$NAME` that is not a variable, and twice for two dollar ' +
      'signs. Any other dollar sign is literal.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  logging:\n    level: ${LOG_LEVEL}',
      right: 'config:\n  logging:\n    level: ${LOG_LEVEL:-info}',
    },
  },
  {
    code: 'PC0205',
    severity: 'error',
    title: 'malformed variable reference',
    explanation:
      '`${` must be followed by the name of an environment variable and a closing brace, ' +
      'optionally with `:-` and a default in between. Names consist of letters, digits and `_`. ' +
      'For a literal `${`, as in templates of other programs, write `$${`. Other forms of shell ' +
      'expansion are not supported.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  adminAddr: localhost:${ADMIN PORT}',
      right: 'config:\n  adminAddr: localhost:${ADMIN_PORT:-15000}',
    },
  },
  {
    code: 'PC0206',
    severity: 'error',
    title: 'unsupported YAML feature',
    explanation:
      'YAML has features that configurations do not need: several documents in one file, tags, ' +
      'keys that are not strings, and aliases that contain themselves or expand beyond the size ' +
      'limit. They are rejected because their effects are hard to predict. Anchors, aliases and ' +
      'merge keys (`<<`) are supported.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: { port: 8080 }\n---\nroutes: []',
      right: 'gateways:\n  default: { port: 8080 }\nroutes: []',
    },
  },
  {
    code: 'PC0207',
    severity: 'warning',
    title: 'a variable within a longer value is not set',
    explanation:
      '`$NAME` in a value is replaced by the environment variable of that name. If the variable ' +
      'is not set, a value that consists only of `$NAME` is rejected. Within a longer value the ' +
      'text is kept as it is, because password hashes contain such sequences. Set the variable, ' +
      'write `${NAME}` to make it required, or write `$$NAME` for a literal dollar sign.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  default:\n    port: 8080\nroutes:\n- backends:\n  - host: orders:8080\n' +
        '  policies:\n    requestHeaders:\n      set:\n        x-region: region-$NO_SUCH_REGION',
      right:
        'gateways:\n  default:\n    port: 8080\nroutes:\n- backends:\n  - host: orders:8080\n' +
        '  policies:\n    requestHeaders:\n      set:\n        x-region: region-${NO_SUCH_REGION:-eu}',
    },
  },
  {
    code: 'PC0210',
    severity: 'error',
    title: 'unknown field',
    explanation:
      'This field does not exist here. If misspelled fields were ignored, a rule could silently ' +
      'not be enforced, so they are rejected, and the resource that contains them fails closed. ' +
      'The hint suggests the closest field or lists all of them. Also check the indentation: ' +
      'the field may be one level too high or too low.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    prot: 8080\n    port: 8080',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0211',
    severity: 'error',
    title: 'missing field',
    explanation:
      'A required field is missing, or none of several alternatives is set. The caret marks the ' +
      'mapping that lacks it. Such fields have no default, because any default would be a guess ' +
      'about what the gateway should admit or where it should send requests.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: {}',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0212',
    severity: 'error',
    title: 'wrong type',
    explanation:
      'A value has the wrong type, such as a string instead of a number, a mapping instead of a ' +
      'list, or no value at all. In YAML, `8080` is a number and `"8080"` is a string; `true` ' +
      'and `false` are the only booleans; a key without a value is not the same as a missing ' +
      'key. Put numbers that are meant as strings in quotes.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    port: "8080"',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0213',
    severity: 'error',
    title: 'value not allowed',
    explanation:
      'Only certain values are allowed here; the message lists them. Words are ' +
      'case-insensitive. If the value comes from another product or a newer version, look it up ' +
      'in the reference: it may have another name here, or not exist.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    port: 8080\n    protocol: HTTP2',
      right: 'gateways:\n  default:\n    port: 8080\n    protocol: HTTP',
    },
  },
  {
    code: 'PC0214',
    severity: 'error',
    title: 'value out of range',
    explanation:
      'A number is out of range, a string is empty or too long, or a list has too many or too ' +
      'few items. Some limits only keep a configuration from exhausting the memory of the ' +
      'gateway. The message states the limit.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    port: 80800',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0215',
    severity: 'error',
    title: 'invalid format',
    explanation:
      'The string does not have the expected format, such as that of a duration, a hostname, a ' +
      'URL, a header name, a regular expression or a key set. The hint describes the format. ' +
      'Durations need a unit (`10s`, not `10`), hostnames have neither a scheme nor a port, and ' +
      'regular expressions use RE2 syntax.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: { port: 8080, hostname: "https://example.com" }',
      right: 'gateways:\n  default: { port: 8080, hostname: example.com }',
    },
  },
  {
    code: 'PC0216',
    severity: 'error',
    title: 'mutually exclusive fields',
    explanation:
      'Two fields are set that cannot be combined: two forms of the same setting, two names of ' +
      'the same field, or two kinds of backend in one entry. The gateway does not guess which ' +
      'one is intended. Remove one of them; the hint says which fields belong together.',
    example: {
      language: 'yaml',
      wrong: 'backends:\n- name: api\n  host: api:8080\n  hosts: [api-1:8080, api-2:8080]',
      right: 'backends:\n- name: api\n  hosts: [api-1:8080, api-2:8080]',
    },
  },
  {
    code: 'PC0219',
    severity: 'error',
    title: 'not supported',
    explanation:
      'The name is known, from configurations of other gateways or from other places, but it is ' +
      'not implemented here: for example, rules about requests cannot be evaluated where there ' +
      'are only connections. It is rejected rather than ignored, because a policy that is not ' +
      'enforced looks like protection; what it should guard fails closed. Remove it, or use ' +
      'other policies instead.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  default: { port: 8080 }\nroutes:\n- policies:\n    sessionAffinity: {}\n  backends:\n  - host: api:8080',
      right:
        "gateways:\n  default: { port: 8080 }\nroutes:\n- policies:\n    authorization:\n      action: Require\n      policy:\n        matchExpressions:\n        - request.headers['sec-fetch-site'] == 'same-origin'\n  backends:\n  - host: api:8080",
    },
  },
  {
    code: 'PC0220',
    severity: 'warning',
    title: 'validated, but not served by this version',
    explanation:
      'The setting or kind of backend is part of the configuration and is validated like any ' +
      'other, but this version does not serve it yet: a setting of `config` or of an AI provider ' +
      'has no effect. In a configuration file, a Kubernetes `service` is not looked up, and ' +
      'routes to it respond with 503. The rest of the file is served.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  default: { port: 8080 }\nroutes:\n- backends:\n  - service: { name: api, namespace: shop, port: 80 }',
      right:
        'gateways:\n  default: { port: 8080 }\nroutes:\n- backends:\n  - host: api.shop.svc.cluster.local:80',
    },
  },
  {
    code: 'PC0221',
    severity: 'warning',
    title: 'setting without effect',
    explanation:
      'The setting is accepted so that configurations of other gateways can be used unchanged, ' +
      'but it has no effect here. Remove it, so that no one relies on it. This is also reported ' +
      'for a policy of a gateway with listeners of several protocols if it applies only to some ' +
      'of them, and for a policy about the endpoints of a backend (`loadBalancer`, ' +
      '`healthCheck`, `outlierDetection`) on a `dynamic` backend, which has no endpoints of its ' +
      'own: each request determines its target. An AI backend with a single provider has a ' +
      'single address, so there is nothing to balance.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  hbone: { windowSize: 4194304 }',
      right: 'config:\n  workers: auto',
    },
  },
  {
    code: 'PC0222',
    severity: 'warning',
    title: 'setting made useless by another one',
    explanation:
      'The setting is valid, but another one in the same policy or on the same route prevents ' +
      'it from having any effect. `timeout.request` limits the whole exchange, including all ' +
      'attempts, so a longer `timeout.backendRequest` is never reached. `requestRedirect` and ' +
      '`directResponse` respond to every request of their route, so nothing is rewritten, ' +
      'mirrored or retried there.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  default: { port: 8080 }\nroutes:\n- policies:\n    timeout: { request: 5s, backendRequest: 10s }\n  backends:\n  - host: api:8080',
      right:
        'gateways:\n  default: { port: 8080 }\nroutes:\n- policies:\n    timeout: { request: 25s, backendRequest: 10s }\n  backends:\n  - host: api:8080',
    },
  },
  {
    code: 'PC0223',
    severity: 'warning',
    title: 'empty file',
    explanation:
      'The file is empty or contains only comments. A gateway that starts with it does not ' +
      'listen on any port. A running gateway does not apply it and keeps the previous ' +
      'configuration, because a file can be empty for a moment while it is written. To stop ' +
      'serving, use `gateways: {}` or stop the process.',
    example: {
      language: 'yaml',
      wrong: '# nothing yet',
      right: 'gateways:\n  default: { port: 8080 }',
    },
  },
  {
    code: 'PC0224',
    severity: 'info',
    title: 'configuration with a different meaning in another gateway',
    explanation:
      '`portcullis validate --profile agentgateway` reports what an agentgateway configuration ' +
      'means there but not here, each difference once, at its first occurrence: defaults of ' +
      'authentication, the Host header that backends get, the base of relative paths, and types ' +
      'of attributes. The file is accepted either way. If you rely on a difference, make it ' +
      'explicit as described in the hint; `portcullis convert` writes the authentication modes ' +
      'for you.',
    example: {
      language: 'text',
      wrong: 'jwtAuth: { issuer: https://issuer.example.com, jwks: { file: keys.json } }',
      right:
        'jwtAuth: { mode: Optional, issuer: https://issuer.example.com, jwks: { file: keys.json } }',
    },
  },
  {
    code: 'PC0225',
    severity: 'warning',
    title: 'empty policies',
    explanation:
      '`policies:` has no content, which is the same as omitting it. This may be the result of ' +
      'an unfinished edit: policies whose lines are not indented far enough do not belong to ' +
      'it. Remove the key, or add policies below it.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  default: { port: 8080 }\nroutes:\n  - policies:\n    backends: [{ host: localhost:9000 }]',
      right:
        'gateways:\n  default: { port: 8080 }\nroutes:\n  - backends: [{ host: localhost:9000 }]',
    },
  },
])
