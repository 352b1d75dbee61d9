import type { JsonObject } from '../../model/json.ts'
import type { ProxyParameters } from './parameters.ts'

/** Default seconds in which a proxy drains connections. */
const SHUTDOWN = { min: 10, max: 60 }

export function shutdownOf({ shutdown = SHUTDOWN }: ProxyParameters): typeof SHUTDOWN {
  return shutdown
}

/** Where the model catalogs are mounted. */
export function catalogMounts({ modelCatalog }: ProxyParameters) {
  return (modelCatalog?.sources ?? []).map(({ configMap }, index) => {
    const { name, key = 'catalog.json' } = configMap
    return { volume: `catalog-${index}`, configMap: name, key, folder: `/catalogs/${index}` }
  })
}

/** The file that a proxy starts with: only process settings; the rest is delivered by xDS. */
export function proxyConfig(parameters: ProxyParameters): JsonObject {
  const { rawConfig = {}, logging = {} } = parameters
  const raw = (rawConfig['config'] ?? {}) as JsonObject
  const { min, max } = shutdownOf(parameters)
  const catalogs = catalogMounts(parameters).map(({ folder, key }) => ({
    file: `${folder}/${key}`,
  }))
  const hasShutdown = parameters.shutdown !== undefined
  return {
    ...rawConfig,
    config: {
      connectionMinTerminationDeadline: `${min}s`,
      connectionTerminationDeadline: `${max}s`,
      ...raw,
      ...(hasShutdown && {
        connectionMinTerminationDeadline: `${min}s`,
        connectionTerminationDeadline: `${max}s`,
      }),
      ...(Object.keys(logging).length > 0 && {
        logging: { ...(raw['logging'] as JsonObject | undefined), ...logging },
      }),
      ...(catalogs.length > 0 && { modelCatalog: catalogs }),
    },
  }
}
