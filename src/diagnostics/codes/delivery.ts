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
    title: 'the proxy does not understand a resource',
    explanation:
      'The controller sent a resource that this version of the proxy does not know. The ' +
      'resource could guard something, so the proxy does not serve the rest without it: it ' +
      'keeps the previous configuration and reports the resource to the controller. Run the ' +
      'same version of proxies and controller.',
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
      'The proxy stores the last configuration that it applied. The file is damaged, cannot be ' +
      'read or cannot be written. The proxy waits for the controller instead; if it restarts ' +
      'while the controller is unavailable, it is not ready until the controller is back.',
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
    title: 'the file contains more than settings, but a controller is used',
    explanation:
      'The proxy was started with `--xds` or the environment variable `PORTCULLIS_XDS_ADDRESS`, ' +
      'so a controller delivers its configuration. The file must then only contain process ' +
      'settings, under `config`: routes and policies in it would silently never be served. In a ' +
      'cluster, the file is generated from `rawConfig` of ProxyParameters.',
    example: {
      language: 'yaml',
      wrong: 'config:\n  workers: 2\ngateways:\n  default: { port: 8080 }',
      right: 'config:\n  workers: 2',
      sketch: true,
    },
  },
])
