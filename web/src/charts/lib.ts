// SPDX-License-Identifier: Apache-2.0
/** The parts of ECharts that are used; a chunk of its own, loaded behind the first paint. */
import { CustomChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import { AxisPointerComponent, DataZoomComponent, GridComponent, MarkLineComponent, TooltipComponent, ToolboxComponent, VisualMapComponent } from 'echarts/components';
import { connect, init, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

use([LineChart, ScatterChart, HeatmapChart, CustomChart, GridComponent, TooltipComponent, AxisPointerComponent,
  DataZoomComponent, ToolboxComponent, MarkLineComponent, VisualMapComponent, CanvasRenderer]);

export { connect, init };
export type { ECharts } from 'echarts/core';
