import { defineCodes } from './define.ts'

export const DELIVERY_CODES = defineCodes('PC08', 'Delivery to proxies', [
  {
    code: 'PC0801',
    severity: 'error',
    title: 'a proxy rejects its configuration',
    explanation:
      'A proxy received a configuration from the controller and rejected it without naming a ' +
      'resource. It keeps the previous configuration. The message is what the proxy reported; its ' +
      'log has the details.',
    example: {
      language: 'text',
      wrong: 'a proxy that is not Portcullis is connected to the controller',
      right: 'proxies are started by the controller, from the image of its own version',
      sketch: true,
    },
  },
  {
    code: 'PC0802',
    severity: 'error',
    title: 'a resource that the proxy does not understand',
    explanation:
      'The controller sent something that this version of the proxy does not know. It may guard ' +
      'something, so the proxy does not serve the rest without it: it keeps the previous ' +
      'configuration and reports the resource to the controller. Run proxies of the same version ' +
      'as the controller.',
    example: {
      language: 'text',
      wrong: 'a newer controller, with proxies pinned to an older image',
      right: 'remove the image tag from ProxyParameters, so that proxies follow the controller',
      sketch: true,
    },
  },
  {
    code: 'PC0803',
    severity: 'warning',
    title: 'the stored configuration cannot be used',
    explanation:
      'The proxy stores the last configuration that it applied, and the file is damaged, cannot be ' +
      'read or cannot be written. The proxy waits for the controller instead; if it restarts while ' +
      'the controller is away, it is not ready until the controller is back.',
    example: {
      language: 'text',
      wrong: 'PORTCULLIS_XDS_STATE=/read-only/state.json',
      right: 'PORTCULLIS_XDS_STATE=/var/lib/portcullis/state.json',
      sketch: true,
    },
  },
  {
    code: 'PC0804',
    severity: 'error',
    title: 'a file that has more than settings beside a controller',
    explanation:
      'The proxy is started with `--xds`, or with the variable `PORTCULLIS_XDS_ADDRESS`, so that a ' +
      'controller delivers what it serves. The file then has settings of the process alone, under ' +
      '`config`: routes and policies in it would never be served, and no one would notice. In a ' +
      'cluster the file is made from `rawConfig` of ProxyParameters.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  workers: 2\ngateways:\n  default: { port: 8080 }',
      right: 'config:\n  workers: 2',
      sketch: true,
    },
  },
])
