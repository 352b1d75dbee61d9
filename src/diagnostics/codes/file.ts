// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are files that name variables

import { defineCodes } from './define.ts'

export const FILE_CODES = defineCodes('PC02', 'Configuration files', [
  {
    code: 'PC0201',
    severity: 'error',
    title: 'the configuration file cannot be read',
    explanation:
      'The file is not there, may not be read by the user that the gateway runs as, is a folder, ' +
      'is larger than 64 MiB or is not UTF-8 text. The message says which. In a container, look ' +
      'whether the volume is mounted and who owns it. Nothing is served from a file that cannot ' +
      'be read; a running gateway goes on with the configuration that it has.',
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
    title: 'the text is not YAML',
    explanation:
      'The text cannot be read as YAML (JSON is YAML, too). Common causes are an indentation that ' +
      'does not fit the lines around it, a tab, a quote or a bracket that is never closed, and a ' +
      'value with a colon or a `#` in it that needs quotes. Expressions are best written in ' +
      'double quotes, or as a block behind `|`. Nothing else of the file is checked before this is fixed.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    port: 8080\n   tls: {}',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0203',
    severity: 'error',
    title: 'a key is given twice',
    explanation:
      'A mapping has the same key twice. Only one of the two could hold, and which one that is ' +
      'differs from parser to parser, so that what one person reads is not what the gateway does. ' +
      'It often happens when a block is pasted below another one of the same name. Keep one of ' +
      'them, or join what is below both.',
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
      '`${NAME}` and `$NAME` in a value are replaced by an environment variable of the gateway; within a longer value `$NAME` is only text. The variable is not set, and to ' +
      'go on with an empty string would be worse than to stop. Set the variable, or write what to ' +
      'use in its place: `${NAME:-value}`. `$$` is one dollar wherever it is written: use ' +
      'it before `{`, for a value such as `$NAME` that is no variable, and twice for two dollars. ' +
      'Any other dollar is a dollar.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  logging:\n    level: ${LOG_LEVEL}',
      right: 'config:\n  logging:\n    level: ${LOG_LEVEL:-info}',
    },
  },
  {
    code: 'PC0205',
    severity: 'error',
    title: 'a reference to a variable is malformed',
    explanation:
      'Behind `${` there must be the name of an environment variable and a closing brace, with ' +
      '`:-` and another value between them if need be. Names have letters, digits and `_`. Where ' +
      'the text is meant to contain `${` itself, as templates of other programs do, it is written ' +
      '`$${`. Other forms that shells know are not supported.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  adminAddr: localhost:${ADMIN PORT}',
      right: 'config:\n  adminAddr: localhost:${ADMIN_PORT:-15000}',
    },
  },
  {
    code: 'PC0206',
    severity: 'error',
    title: 'a part of YAML that configuration does not use',
    explanation:
      'YAML knows more than a configuration needs: several documents in one file, tags, keys that ' +
      'are not text, aliases that contain themselves or that expand to more than fits into memory. ' +
      'They are rejected, because each of them can surprise. Anchors, aliases and ' +
      'merge keys (`<<`) are fine.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: { port: 8080 }\n---\nroutes: []',
      right: 'gateways:\n  default: { port: 8080 }\nroutes: []',
    },
  },
  {
    code: 'PC0207',
    severity: 'warning',
    title: 'a variable in a longer value is not set',
    explanation:
      '`$NAME` in a value is replaced by the environment variable of that name. If the variable ' +
      'is not set, a value that is `$NAME` and nothing else is rejected. In a longer value the ' +
      'characters stay as they are, because hashes of passwords have such parts. Set the variable, ' +
      'write `${NAME}` to make it required, or write `$$NAME` for a dollar and the name.',
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
    title: 'an unknown key',
    explanation:
      'Nothing reads this key at this place. A misspelt key that is ignored is a rule that is not enforced without anyone noticing, so it is rejected, and what it belongs to fails closed. The ' +
      'hint has the nearest key that exists, or all of them. Look at the indentation, too: the key may be right, but one level too high or too low.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    prot: 8080\n    port: 8080',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0211',
    severity: 'error',
    title: 'something is missing',
    explanation:
      'A key that is needed is not there, or none of several keys of which one is needed. The caret marks the mapping that lacks it. There is no default for such keys, because ' +
      'every default would be a guess about what the gateway should admit or where it should ' +
      'send requests.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: {}',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0212',
    severity: 'error',
    title: 'a value of the wrong type',
    explanation:
      'There is text where a number is needed, a mapping where there should be a list, nothing at ' +
      'all, and so on. To YAML, `8080` is a number and `"8080"` is text; `true` and `false` are ' +
      'the only booleans; a key with nothing behind it has no value, which is not the same as no ' +
      'key. Numbers that are meant as text need quotes.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    port: "8080"',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0213',
    severity: 'error',
    title: 'not one of the possible values',
    explanation:
      'Only certain words or numbers are possible here, and the message lists them. Case does not ' +
      'matter for words. If a value of another product or of a newer version was meant, look it ' +
      'up in the reference: it may have another name here, or not exist.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    port: 8080\n    protocol: HTTP2',
      right: 'gateways:\n  default:\n    port: 8080\n    protocol: HTTP',
    },
  },
  {
    code: 'PC0214',
    severity: 'error',
    title: 'too small, too large, too many or too few',
    explanation:
      'A number is outside of its bounds, a text is too long or empty, or a list has more or fewer ' +
      'items than it may have. Bounds that look arbitrary keep one configuration from exhausting ' +
      'the memory of the gateway. The message names the bound that was crossed.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default:\n    port: 80800',
      right: 'gateways:\n  default:\n    port: 8080',
    },
  },
  {
    code: 'PC0215',
    severity: 'error',
    title: 'a value without the right form',
    explanation:
      'The text has no meaning here: it should be a duration, a hostname, a URL, the name of a ' +
      'header, a regular expression, a key set or something else with a form of its own. The hint ' +
      'shows how it is written. Durations need a unit (`10s`, not `10`), hostnames have neither a ' +
      'scheme nor a port, and regular expressions have the syntax of RE2.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: { port: 8080, hostname: "https://example.com" }',
      right: 'gateways:\n  default: { port: 8080, hostname: example.com }',
    },
  },
  {
    code: 'PC0216',
    severity: 'error',
    title: 'things that exclude each other',
    explanation:
      'Two keys are set of which only one can hold: two forms of the same thing, two spellings of ' +
      'one key, or two kinds of backend in one entry. Which one was meant cannot be known, and to ' +
      'choose one silently would be wrong half of the time. Keep the one that is meant; the hint ' +
      'says what goes together.',
    example: {
      language: 'yaml',
      wrong: 'backends:\n- name: api\n  host: api:8080\n  hosts: [api-1:8080, api-2:8080]',
      right: 'backends:\n- name: api\n  hosts: [api-1:8080, api-2:8080]',
    },
  },
  {
    code: 'PC0219',
    severity: 'error',
    title: 'known, but not supported',
    explanation:
      'The name is known, from files that were written for other gateways or from other places, ' +
      'and nothing here implements it: requests cannot be judged where there are only ' +
      'connections, for one. It is rejected rather than ignored, because a policy that nothing enforces looks like protection and is none; what it was to guard fails closed. Remove it, ' +
      'or express it by the policies that there are.',
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
    title: 'checked, but not served by this version',
    explanation:
      'The section or the kind of backend is part of the configuration and is checked like all ' +
      'others, but this version has no part that serves it yet: nothing listens for it, and a ' +
      'route that leads to such a backend gets 500. A `service` of Kubernetes is not looked up ' +
      'for a file, and routes to it respond with 503. A setting of `config` or of an AI provider does ' +
      'nothing. The rest of the file is served.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: { port: 8080 }\nui: {}',
      right: 'gateways:\n  default: { port: 8080 }',
    },
  },
  {
    code: 'PC0221',
    severity: 'warning',
    title: 'a setting without effect',
    explanation:
      'The setting is taken from files that were written for other gateways, so that they can be ' +
      'used as they are, but it has no meaning here. It does no harm, and it does nothing. Remove it, so that no one relies on it. A policy of a gateway with listeners of several protocols ' +
      'is reported in the same way if it applies to some of them alone, and so is a policy about ' +
      'the endpoints of a backend (`loadBalancer`, `healthCheck`, `outlierDetection`) on a ' +
      '`dynamic` one, which has none: each request names its own target. One provider of an AI ' +
      'backend has one address, and nothing to balance.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  hbone: { windowSize: 4194304 }',
      right: 'config:\n  workers: auto',
    },
  },
  {
    code: 'PC0222',
    severity: 'warning',
    title: 'a setting that another one makes useless',
    explanation:
      'What is written is in order by itself and does nothing, because of something else in the ' +
      'same policy or at the same route. `timeout.request` bounds the whole exchange, all attempts ' +
      'included, so that a longer `timeout.backendRequest` is never reached. `requestRedirect` and ' +
      '`directResponse` respond to every request of their route, so that nothing is rewritten, mirrored or retried there.',
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
    title: 'a file that says nothing',
    explanation:
      'The file is empty, or has comments alone. A gateway that starts with it listens nowhere. ' +
      'One that is running does not take it over and goes on with what it has, since a file that ' +
      'is being written is empty for a moment: to stop serving, write `gateways: {}` or stop the ' +
      'process.',
    example: {
      language: 'yaml',
      wrong: '# nothing yet',
      right: 'gateways:\n  default: { port: 8080 }',
    },
  },
  {
    code: 'PC0224',
    severity: 'info',
    title: 'a file written for another gateway means something else there',
    explanation:
      '`portcullis validate --profile agentgateway` reports, each once and at its first place, what ' +
      'a file of agentgateway means there and not here: defaults of authentication, the Host that ' +
      'backends get, where relative paths start, and types of attributes. The file is accepted ' +
      'either way. Write the difference out, as the hint says, where you rely on it; ' +
      '`portcullis convert` writes the modes of authentication out for you.',
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
    title: 'a list of policies that says nothing',
    explanation:
      '`policies:` is written with nothing below it, which is the same as leaving it out. It may be ' +
      'the trace of an edit that is not finished: policies whose lines are not indented far enough ' +
      'are no longer part of it. Remove the key, or write the policies below it.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  default: { port: 8080 }\nroutes:\n  - policies:\n    backends: [{ host: localhost:9000 }]',
      right:
        'gateways:\n  default: { port: 8080 }\nroutes:\n  - backends: [{ host: localhost:9000 }]',
    },
  },
])
