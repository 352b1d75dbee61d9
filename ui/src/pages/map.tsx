import { Checkbox, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type {
  Effective,
  EffectiveBackend,
  EffectiveListener,
  EffectiveRoute,
} from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { Guards } from '../parts/guards.tsx'
import { Paged } from '../parts/paged.tsx'
import { Empty, Loading, Page, Problem } from '../parts/states.tsx'
import { isOpen, Protection } from '../parts/tags.tsx'

/** Gateways → listeners → routes → backends, each with its guards. */
export function MapPage() {
  const { data, problem, reload } = useApi<Effective>('/api/policies/effective')
  const [isOnlyOpen, setOnlyOpen] = useState(false)
  const [search, setSearch] = useState('')
  const isShown = (listener: EffectiveListener, route: EffectiveRoute) =>
    (!isOnlyOpen || isOpen(route.protection)) &&
    textOf(listener, route).includes(search.toLowerCase())
  return (
    <Page title="Map" lead="Listeners, routes and backends, and the rules that guard them.">
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? <Loading label="Analyzing guards" /> : null}
      {data === undefined ? null : (
        <>
          <Group>
            <TextInput
              aria-label="Search the map"
              placeholder="Route, host, path or backend"
              value={search}
              onChange={(event) => setSearch(event.currentTarget.value)}
              flex="1 1 14rem"
            />
            <Checkbox
              label="Only unguarded"
              checked={isOnlyOpen}
              onChange={(event) => setOnlyOpen(event.currentTarget.checked)}
            />
          </Group>
          {data.listeners.length === 0 ? (
            <Empty title="No listeners">
              Nothing is served yet. Add a gateway with a port and a route to the configuration.
            </Empty>
          ) : null}
          <Paged label="listeners" items={data.listeners} size={perPage(data.listeners)}>
            {(listener) => (
              <Listener
                key={`${listener.gateway}/${listener.listener}`}
                listener={listener}
                routes={listener.routes.filter((route) => isShown(listener, route))}
              />
            )}
          </Paged>
        </>
      )}
    </Page>
  )
}

/** Listeners with many routes fill a page of their own. */
function perPage(listeners: readonly EffectiveListener[]): number {
  const routes = Math.max(...listeners.map((listener) => listener.routes.length), 1)
  return Math.max(1, Math.floor(50 / routes))
}

function textOf({ gateway, listener }: EffectiveListener, route: EffectiveRoute): string {
  const { hostnames, matches = [], backends } = route
  const words = [gateway, listener, route.route, ...hostnames, ...matches]
  return [...words, ...backends.map(({ backend }) => backend)].join(' ').toLowerCase()
}

interface ListenerProps {
  readonly listener: EffectiveListener
  readonly routes: readonly EffectiveRoute[]
}

function Listener({ listener, routes }: ListenerProps) {
  const { gateway, protocol, port, guards } = listener
  const name = gateway === listener.listener ? gateway : `${gateway}/${listener.listener}`
  return (
    <section aria-label={`Listener ${name}`} className="map">
      <Group gap="sm">
        <Title order={2} size="h4">
          {name}
        </Title>
        <Text c="dimmed">
          {protocol} on port {port}
        </Text>
      </Group>
      <Guards guards={guards} />
      {routes.length === 0 ? <Text c="dimmed">No routes match.</Text> : null}
      <Paged label="routes" items={routes}>
        {(route, index) => <Route key={index} route={route} />}
      </Paged>
    </section>
  )
}

function Route({ route }: { readonly route: EffectiveRoute }) {
  const { hostnames, matches = [], guards, backends, protection } = route
  const isUnguarded = isOpen(protection)
  return (
    <div className={`box ${isUnguarded ? 'box-bad' : ''}`} data-protection={protection}>
      <div className="map-route">
        <Stack gap={4}>
          <Group gap="xs">
            <Title order={3} size="h5">
              {route.route}
            </Title>
            <Protection value={protection} />
          </Group>
          {[...hostnames, ...matches].map((words) => (
            <span key={words} className="expression">
              {words}
            </span>
          ))}
        </Stack>
        <Stack gap="xs">
          {guards.length === 0 ? (
            <Text size="sm" c={isUnguarded ? 'var(--bad)' : 'dimmed'}>
              {isUnguarded
                ? 'No rule denies anything here: all requests are admitted.'
                : 'No rules on the route itself.'}
            </Text>
          ) : (
            <Guards guards={guards} />
          )}
        </Stack>
        <Stack gap="xs">
          {backends.length === 0 ? (
            <Text size="sm" c="dimmed">
              No backend
            </Text>
          ) : null}
          <Paged label="backends" items={backends} size={20}>
            {(backend) => <Backend key={backend.backend} backend={backend} />}
          </Paged>
        </Stack>
      </div>
    </div>
  )
}

function Backend({ backend }: { readonly backend: EffectiveBackend }) {
  const parts = [...(backend.providers ?? []), ...(backend.targets ?? [])]
  return (
    <div>
      <Text size="sm" fw={600}>
        → {backend.backend}
      </Text>
      <Guards guards={backend.guards} />
      {parts.map((part) => (
        <div key={part.name}>
          <Text size="sm">{part.name}</Text>
          <Guards guards={part.guards} />
        </div>
      ))}
    </div>
  )
}
