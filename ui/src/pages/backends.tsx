import { Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type { Catalogue, Effective } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { Guards } from '../parts/guards.tsx'
import { Paged } from '../parts/paged.tsx'
import { AddLinks, ResourceLink } from '../parts/resource-links.tsx'
import { Empty, Loading, Page, Problem, ReadOnlyNote } from '../parts/states.tsx'
import { Protection, Tag } from '../parts/tags.tsx'
import { waysTo } from '../parts/ways.ts'

interface ModelDump {
  readonly model: { readonly backends?: readonly ModelBackend[] } | null
}

interface ModelBackend {
  readonly name: string
  readonly kind: string
  readonly endpoints?: readonly { readonly host?: string; readonly port?: number }[]
}

/** Lists the backends behind the gateway, and the routes that lead to them. */
export function Backends() {
  const dump = useApi<ModelDump>('/api/config/model')
  const effective = useApi<Effective>('/api/policies/effective')
  const catalogue = useApi<Catalogue>('/api/llm/catalogue')
  const [search, setSearch] = useState('')
  const ways = waysTo(effective.data)
  const backends = dump.data?.model?.backends ?? []
  const shown = backends.filter(({ name, kind, endpoints = [] }) =>
    [name, kind, ...endpoints.map(({ host = '' }) => host)]
      .join(' ')
      .toLowerCase()
      .includes(search.toLowerCase()),
  )
  const providers = new Map(
    (catalogue.data?.backends ?? []).map((one) => [one.backend, one.providers]),
  )
  return (
    <Page
      title="Backends"
      lead="The backends of this gateway and the routes that use them."
      actions={<AddLinks kind="backends" />}
    >
      <ReadOnlyNote />
      {dump.problem === undefined ? null : <Problem problem={dump.problem} retry={dump.reload} />}
      {dump.data === undefined && dump.problem === undefined ? (
        <Loading label="Reading backends" />
      ) : null}
      {dump.data !== undefined && backends.length === 0 ? (
        <Empty title="No backends">
          <a href="/ui/new/backends">Add a backend</a>, and refer to it in a route.
        </Empty>
      ) : null}
      {backends.length === 0 ? null : (
        <TextInput
          aria-label="Search backends"
          placeholder="Name, kind or host"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      {backends.length > 0 && shown.length === 0 ? (
        <Text c="dimmed">No backends match.</Text>
      ) : null}
      <Paged label="backends" items={shown}>
        {(backend) => (
          <section key={backend.name} className="box" aria-label={`Backend ${backend.name}`}>
            <Stack gap="xs">
              <Group gap="xs">
                <Title order={2} size="h4">
                  <ResourceLink kind="backends" id={backend.name} />
                </Title>
                <Tag tone="quiet">{backend.kind}</Tag>
              </Group>
              {(backend.endpoints ?? []).map(({ host = '', port }) => (
                <span key={`${host}:${port}`} className="expression">
                  {host}:{port}
                </span>
              ))}
              {(providers.get(backend.name) ?? []).map((provider) => (
                <Text key={`${provider.group} ${provider.name}`} size="sm">
                  {provider.name}: {provider.provider} at{' '}
                  <span className="expression">{provider.address}</span>
                </Text>
              ))}
              {effective.data !== undefined && ways.get(backend.name) === undefined ? (
                <Text size="sm" c="dimmed">
                  No route uses this backend.
                </Text>
              ) : null}
              <Paged label="routes" items={ways.get(backend.name) ?? []} size={20}>
                {({ route, listener, backend: own }, index) => (
                  <div key={`${route.route} ${index}`}>
                    <Group gap="xs">
                      <Protection value={route.protection} />
                      <Text size="sm">
                        {listener.gateway}, port {listener.port} → {route.route}
                      </Text>
                    </Group>
                    <Guards guards={own.guards} />
                  </div>
                )}
              </Paged>
            </Stack>
          </section>
        )}
      </Paged>
    </Page>
  )
}
