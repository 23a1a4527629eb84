// SPDX-License-Identifier: Apache-2.0
/** The entry: what runs beside the pages is started here, once. */
import { render } from 'preact';
import './app.css';
import { startEvents } from './api/events';
import { startSession } from './api/session';
import { Shell } from './shell/Shell';
import { startRefreshing } from './state/refresh';

render(<Shell />, document.getElementById('app')!);
void startSession();
startEvents();
startRefreshing();
