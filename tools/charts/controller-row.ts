import { quantiles, type Row, rate } from './panel.ts'

export const CONTROLLER_ROW: Row = {
  title: 'Controller',
  panels: [
    {
      title: 'Leaders',
      description:
        'Replicas that write to the cluster: always one, except for a moment during a change of leader.',
      kind: 'stat',
      queries: { leaders: 'sum(portcullis_controller_leader)' },
    },
    {
      title: 'Connected proxies',
      description: 'Proxies that are connected to any replica, by Gateway.',
      queries: { '{{gateway}}': 'sum by (gateway) (portcullis_controller_xds_connections)' },
    },
    {
      title: 'Outdated proxies',
      description: 'Connected proxies that do not run the latest configuration.',
      queries: { '{{gateway}}': 'sum by (gateway) (portcullis_controller_xds_stale_proxies) > 0' },
    },
    {
      title: 'Deliveries',
      description: 'Configurations that were sent to proxies, by result.',
      unit: 'ops',
      queries: {
        '{{gateway}} {{outcome}}': `sum by (gateway, outcome) (${rate('portcullis_controller_xds_deliveries_total')})`,
      },
    },
    {
      title: 'From change to proxy',
      description:
        'From seeing a change to the acknowledgement of the last proxy that it concerns.',
      unit: 's',
      queries: quantiles('portcullis_controller_delivery_duration_seconds'),
    },
    {
      title: 'Rejected proxies',
      description: 'Proxies that failed to authenticate, by reason.',
      unit: 'ops',
      queries: {
        '{{reason}}': `sum by (reason) (${rate('portcullis_controller_xds_refusals_total')})`,
      },
    },
    {
      title: 'Translations',
      description: 'Translations of the cluster state.',
      unit: 'ops',
      queries: {
        '{{outcome}}': `sum by (outcome) (${rate('portcullis_controller_reconciles_total')})`,
      },
    },
    {
      title: 'Translation duration',
      description: 'Time to translate the cluster state.',
      unit: 's',
      queries: quantiles('portcullis_controller_reconcile_duration_seconds'),
    },
    {
      title: 'Pending changes',
      description: 'Object changes that have not been processed yet.',
      queries: { '{{pod}}': 'sum by (pod) (portcullis_controller_queue_depth)' },
    },
    {
      title: 'Conditions that are not True',
      description: 'Objects with a status condition that is False or Unknown, by condition.',
      kind: 'table',
      width: 12,
      queries: {
        conditions:
          'max by (kind, condition, status) (portcullis_controller_conditions{status=~"False|Unknown"}) > 0',
      },
    },
    {
      title: 'Objects',
      description: 'Watched objects in the cluster.',
      width: 12,
      queries: { '{{kind}}': 'max by (kind) (portcullis_controller_objects)' },
    },
    {
      title: 'Status updates',
      description: 'Status updates of objects, by result.',
      unit: 'ops',
      queries: {
        '{{kind}} {{outcome}}': `sum by (kind, outcome) (${rate('portcullis_controller_status_writes_total')})`,
      },
    },
    {
      title: 'Applied objects',
      description: 'Objects of proxies that were applied or deleted, by result.',
      unit: 'ops',
      queries: {
        '{{kind}} {{outcome}}': `sum by (kind, outcome) (${rate('portcullis_controller_applies_total')})`,
      },
    },
    {
      title: 'Restarted watches',
      description: 'Watches that were restarted, by reason.',
      unit: 'ops',
      queries: {
        '{{kind}} {{reason}}': `sum by (kind, reason) (${rate('portcullis_controller_watch_restarts_total')})`,
      },
    },
    {
      title: 'Sent to proxies',
      description: 'Configuration bytes sent per second.',
      unit: 'Bps',
      width: 12,
      queries: {
        '{{gateway}}': `sum by (gateway) (${rate('portcullis_controller_xds_sent_bytes_total')})`,
      },
    },
    {
      title: 'Certificate of the xDS server',
      description: 'Time until the certificate that the controller presents to proxies expires.',
      kind: 'stat',
      unit: 's',
      width: 12,
      queries: {
        left: 'min(portcullis_controller_certificate_expiry_timestamp_seconds) - time()',
      },
    },
  ],
}
